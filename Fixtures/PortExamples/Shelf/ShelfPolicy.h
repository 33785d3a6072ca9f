#import <CoreData/CoreData.h>

@interface ShelfPolicy : NSEntityMigrationPolicy
- (NSString *)placeForShelf:(NSString *)shelf;
@end
