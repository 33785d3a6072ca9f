/// The models and the mapping model of `stagecoach demo`, embedded in the binary so that it runs anywhere.
///
/// `Fixtures` has the same texts; a test compares them.
package enum DemoTexts {
    /// `Library.xcdatamodel/contents`.
    package static let sourceModel =
        #"""
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22522" systemVersion="23A344" minimumToolsVersion="Automatic" sourceLanguage="Swift" userDefinedModelVersionIdentifier="1">
            <entity name="Article" representedClassName="Article" parentEntity="Item" syncable="YES" codeGenerationType="class">
                <attribute name="journal" optional="YES" attributeType="String"/>
                <attribute name="wordCount" optional="YES" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
            </entity>
            <entity name="Author" representedClassName="Author" syncable="YES" codeGenerationType="class">
                <attribute name="bornOn" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
                <attribute name="name" attributeType="String" defaultValueString=""/>
                <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Book" inverseName="author" inverseEntity="Book"/>
                <fetchIndex name="byName">
                    <fetchIndexElement property="name" type="Binary" order="ascending"/>
                </fetchIndex>
            </entity>
            <entity name="Book" representedClassName="Book" parentEntity="Item" syncable="YES" codeGenerationType="class">
                <attribute name="isbn" optional="YES" attributeType="String"/>
                <attribute name="pageCount" optional="YES" attributeType="Integer 32" minValueString="1" defaultValueString="1" usesScalarValueType="YES"/>
                <attribute name="price" optional="YES" attributeType="Decimal" defaultValueString="0.0"/>
                <relationship name="author" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Author" inverseName="books" inverseEntity="Author"/>
                <relationship name="chapters" optional="YES" toMany="YES" deletionRule="Cascade" ordered="YES" destinationEntity="Chapter" inverseName="book" inverseEntity="Chapter"/>
                <uniquenessConstraints>
                    <uniquenessConstraint>
                        <constraint value="isbn"/>
                    </uniquenessConstraint>
                </uniquenessConstraints>
            </entity>
            <entity name="Chapter" representedClassName="Chapter" syncable="YES" codeGenerationType="class">
                <attribute name="heading" optional="YES" attributeType="String"/>
                <attribute name="number" attributeType="Integer 16" defaultValueString="0" usesScalarValueType="YES"/>
                <relationship name="book" maxCount="1" deletionRule="Nullify" destinationEntity="Book" inverseName="chapters" inverseEntity="Book"/>
            </entity>
            <entity name="Item" representedClassName="Item" isAbstract="YES" syncable="YES" codeGenerationType="class">
                <attribute name="acquiredAt" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
                <attribute name="identifier" optional="YES" attributeType="UUID" usesScalarValueType="NO"/>
                <attribute name="title" attributeType="String" defaultValueString="Untitled"/>
                <relationship name="tags" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Tag" inverseName="items" inverseEntity="Item"/>
            </entity>
            <entity name="Tag" representedClassName="Tag" syncable="YES" codeGenerationType="class">
                <attribute name="name" attributeType="String" defaultValueString=""/>
                <relationship name="items" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Item" inverseName="tags" inverseEntity="Item"/>
            </entity>
            <elements>
                <element name="Book" positionX="-63" positionY="-18" width="128" height="119"/>
            </elements>
        </model>

        """#

    /// `Library 2.xcdatamodel/contents`.
    package static let destinationModel =
        #"""
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22522" systemVersion="23A344" minimumToolsVersion="Automatic" sourceLanguage="Swift" userDefinedModelVersionIdentifier="2">
            <entity name="Article" representedClassName="Article" parentEntity="Item" syncable="YES" codeGenerationType="class">
                <attribute name="journal" optional="YES" attributeType="String"/>
                <attribute name="wordCount" optional="YES" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
            </entity>
            <entity name="Author" representedClassName="Author" syncable="YES" codeGenerationType="class">
                <attribute name="bornOn" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
                <attribute name="fullName" attributeType="String" defaultValueString="" elementID="name"/>
                <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Book" inverseName="author" inverseEntity="Book"/>
                <fetchIndex name="byFullName">
                    <fetchIndexElement property="fullName" type="Binary" order="ascending"/>
                </fetchIndex>
            </entity>
            <entity name="Book" representedClassName="Book" parentEntity="Item" syncable="YES" codeGenerationType="class">
                <attribute name="citation" optional="YES" attributeType="String"/>
                <attribute name="isbn" optional="YES" attributeType="String"/>
                <attribute name="isLong" attributeType="Boolean" defaultValueString="NO" usesScalarValueType="YES"/>
                <attribute name="pageCount" optional="YES" attributeType="Integer 32" minValueString="1" defaultValueString="1" usesScalarValueType="YES"/>
                <attribute name="price" optional="YES" attributeType="Decimal" defaultValueString="0.0"/>
                <relationship name="author" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Author" inverseName="books" inverseEntity="Author"/>
                <relationship name="publisher" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Publisher" inverseName="books" inverseEntity="Publisher"/>
                <relationship name="sections" optional="YES" toMany="YES" deletionRule="Cascade" ordered="YES" destinationEntity="Section" inverseName="book" inverseEntity="Section" elementID="chapters"/>
                <uniquenessConstraints>
                    <uniquenessConstraint>
                        <constraint value="isbn"/>
                    </uniquenessConstraint>
                </uniquenessConstraints>
            </entity>
            <entity name="Item" representedClassName="Item" isAbstract="YES" syncable="YES" codeGenerationType="class">
                <attribute name="acquiredAt" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
                <attribute name="identifier" optional="YES" attributeType="UUID" usesScalarValueType="NO"/>
                <attribute name="title" attributeType="String" defaultValueString="Untitled"/>
                <relationship name="tags" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Tag" inverseName="items" inverseEntity="Item"/>
            </entity>
            <entity name="Publisher" representedClassName="Publisher" syncable="YES" codeGenerationType="class">
                <attribute name="name" attributeType="String" defaultValueString=""/>
                <attribute name="website" optional="YES" attributeType="URI"/>
                <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Book" inverseName="publisher" inverseEntity="Book"/>
            </entity>
            <entity name="Section" representedClassName="Section" elementID="Chapter" syncable="YES" codeGenerationType="class">
                <attribute name="heading" optional="YES" attributeType="String"/>
                <attribute name="number" attributeType="Integer 16" defaultValueString="0" usesScalarValueType="YES"/>
                <relationship name="book" maxCount="1" deletionRule="Nullify" destinationEntity="Book" inverseName="sections" inverseEntity="Book"/>
            </entity>
            <entity name="Tag" representedClassName="Tag" syncable="YES" codeGenerationType="class">
                <attribute name="name" attributeType="String" defaultValueString=""/>
                <relationship name="items" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Item" inverseName="tags" inverseEntity="Item"/>
            </entity>
        </model>

        """#

    /// `library.json`.
    package static let mapping =
        #"""
        {
          "formatVersion": 2,
          "entityMappings": [
            {
              "name": "AuthorToAuthor",
              "sourceEntity": "Author",
              "destinationEntity": "Author"
            },
            {
              "name": "AuthorToPublisher",
              "sourceEntity": "Author",
              "destinationEntity": "Publisher",
              "attributes": {
                "name": "FUNCTION('House of ', 'stringByAppendingString:', $source.name)"
              }
            },
            {
              "name": "ArticleToArticle",
              "sourceEntity": "Article",
              "destinationEntity": "Article"
            },
            {
              "name": "BookToBook",
              "sourceEntity": "Book",
              "destinationEntity": "Book",
              "attributes": {
                "citation": "FUNCTION(FUNCTION($source.author.name, 'stringByAppendingString:', ', '), 'stringByAppendingString:', $source.title)",
                "isLong": "TERNARY($source.pageCount > 400, YES, NO)"
              },
              "relationships": {
                "author": "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'AuthorToAuthor', $source.author)",
                "publisher": "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'AuthorToPublisher', $source.author)"
              }
            },
            {
              "name": "ChapterToSection",
              "sourceEntity": "Chapter",
              "destinationEntity": "Section"
            },
            {
              "name": "TagToTag",
              "sourceEntity": "Tag",
              "destinationEntity": "Tag"
            }
          ]
        }

        """#

    /// `Library.xcdatamodeld/.xccurrentversion`.
    package static let currentVersion =
        #"""
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>
        	<key>_XCCurrentVersionName</key>
        	<string>Library 2.xcdatamodel</string>
        </dict>
        </plist>

        """#
}
