import Foundation
import Rows

extension ProgramRun {
    /// Returns the value of a conversion function. Its arguments have the types that the compiler has checked.
    func call(_ step: ProgramInstruction) throws(ProgramFault) -> ProgramRegister {
        let function = code.draft.conversions[Int(step.n)]
        var values: [EvaluatedValue] = []
        values.reserveCapacity(function.arguments.count)
        for (index, type) in function.arguments.enumerated() {
            let register = registers[Int(step.a) + index]
            values.append(register.isNull ? .null : value(of: register, type, at: Int(step.a) + index))
        }
        switch try function(values) {
        case .text(let text): return try made(text)
        case .date(let seconds), .real(let seconds): return .real(seconds)
        case .integer(let number): return .integer(number)
        case .boolean(let flag): return .truth(flag)
        case .decimal(let number): return decimal(number, into: step.d)
        case .data(let data): return try stored(Array(data))
        case .uuid(let uuid): return try stored(withUnsafeBytes(of: uuid.uuid) { Array($0) })
        default: return ProgramRegister()
        }
    }

    private func value(of register: ProgramRegister, _ type: ExpressionType, at place: Int) -> EvaluatedValue {
        switch type {
        case .text: .text(String(decoding: bytes(register), as: UTF8.self))
        case .data: .data(Data(bytes(register)))
        case .date: .date(register.realValue)
        case .decimal: .decimal(register.kind == .decimal ? decimals[place] : Decimal(register.integerValue))
        default: .null
        }
    }
}
