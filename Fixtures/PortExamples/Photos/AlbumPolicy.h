#import <CoreData/CoreData.h>

@interface AlbumPolicy : NSEntityMigrationPolicy
- (NSString *)slugForTitle:(NSString *)title separator:(NSString *)separator;
@end
