import Foundation

/// Foundation's class of this name, which Linux does not have. Nothing can be undone in a migration: it is here so that code
/// that turns undo off compiles.
open class UndoManager: NSObject {
    /// False.
    open var canUndo: Bool { false }
    /// False.
    open var canRedo: Bool { false }
    /// Has no effect.
    open var levelsOfUndo = 0
    /// Has no effect.
    open var groupsByEvent = true
    /// False.
    open var isUndoRegistrationEnabled: Bool { false }

    /// Does nothing.
    open func beginUndoGrouping() {}
    /// Does nothing.
    open func endUndoGrouping() {}
    /// Does nothing.
    open func disableUndoRegistration() {}
    /// Does nothing.
    open func enableUndoRegistration() {}
    /// Does nothing.
    open func undo() {}
    /// Does nothing.
    open func redo() {}
    /// Does nothing.
    open func removeAllActions() {}
}
