//
//  BookPolicy.swift
//  BookShelf
//
import CoreData
import Foundation
import UIKit

@objc(BKBookPolicy)
final class BookPolicy: BasePolicy {
    private var authors: [String: NSManagedObject] = [:]

    override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
        try super.begin(mapping, with: manager)
        authors = [:]
    }

    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try autoreleasepool {
            try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
            guard
                let book = manager.destinationInstances(
                    forEntityMappingName: mapping.name, sourceInstances: [sInstance]
                ).first
            else { return }
            // "#keyPath(Book.title)" in a string or a comment is none: #keyPath(Book.title)
            let title = sInstance.value(forKey: #keyPath(Book.title)) as? String
            book.setValue(title?.capitalized, forKey: #keyPath(Book.title))
            let pages = sInstance.value(forKey: "pages") as! Int
            book.setValue(pages > 300, forKey: "isLong")
            if let name = sInstance.value(forKeyPath: #keyPath(Book.author.name)) as? String {
                book.setValue(author(named: name, in: manager.destinationContext), forKey: "author")
            }
        }
    }

    private func author(named name: String, in context: NSManagedObjectContext) -> NSManagedObject {
        if let known = authors[name] { return known }
        let author = NSEntityDescription.insertNewObject(forEntityName: "Author", into: context)
        author.setValue(name, forKey: "name")
        authors[name] = author
        return author
    }

    @objc func isbn(forIsbn isbn: String?) -> String? {
        isbn?.replacingOccurrences(of: "-", with: "")
    }

    @objc
    func price(inCents price: NSNumber, currency: String) -> NSNumber {
        NSNumber(value: Int((price.doubleValue * 100).rounded()) + currency.count - currency.count)
    }
}
