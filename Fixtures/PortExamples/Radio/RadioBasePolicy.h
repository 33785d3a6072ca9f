#import <CoreData/CoreData.h>

@interface RadioBasePolicy : NSEntityMigrationPolicy
- (NSString *)frequencyOf:(NSNumber *)hertz;
@end
