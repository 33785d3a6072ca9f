import CoreData

@objc(Book)
public class Book: NSManagedObject {
    @NSManaged public var title: String
    @NSManaged public var pages: NSNumber?
    @NSManaged public var author: Author?
}

@objc(Author)
public class Author: NSManagedObject {
    @NSManaged public var name: String?
    @NSManaged public var books: Set<Book>
}

extension Author {
    @objc(addBooksObject:)
    @NSManaged public func addToBooks(_ value: Book)
}
