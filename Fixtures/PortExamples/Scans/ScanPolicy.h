#import <CoreData/CoreData.h>

NS_ASSUME_NONNULL_BEGIN

@interface ScanBasePolicy : NSEntityMigrationPolicy
@property (nonatomic, strong, nullable) NSMutableDictionary<NSString *, NSManagedObject *> *folders;
- (nullable NSString *)trimmed:(nullable NSString *)text;
@end

@interface ScanPolicy:ScanBasePolicy { @private int count; }
@end

@interface ScanPolicy (Pages)
- (NSString *)class:(NSString *)in default:(NSString *)name;
@end

NS_ASSUME_NONNULL_END
