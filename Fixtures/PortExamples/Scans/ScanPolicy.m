#import "ScanPolicy.h"

#define SCAN_LOG(format, ...) NSLog(format, ##__VA_ARGS__)

static NSString *const kTitle = @"title";

@interface ScanPolicy ()
@property (nonatomic) NSInteger total;
@end

@implementation ScanBasePolicy

- (nullable NSString *)trimmed:(nullable NSString *)text
{
    return [text stringByTrimmingCharactersInSet:[NSCharacterSet whitespaceCharacterSet]];
}

@end

@implementation ScanPolicy

- (BOOL)beginEntityMapping:(NSEntityMapping *)mapping
                   manager:(NSMigrationManager *)manager
                     error:(NSError *__autoreleasing *)error
{
    self.folders = [NSMutableDictionary dictionary];
    SCAN_LOG(@"begin %@ {", mapping.name);
    return YES;
}

- (BOOL) createDestinationInstancesForSourceInstance:(NSManagedObject *)sInstance entityMapping:(NSEntityMapping *)mapping manager:(NSMigrationManager *)manager error:(NSError **)error
{
    if (![super createDestinationInstancesForSourceInstance:sInstance entityMapping:mapping manager:manager error:error]) {
        return NO;
    }
    NSManagedObject *scan = [[manager destinationInstancesForEntityMappingNamed:[mapping name] sourceInstances:@[ sInstance ]] firstObject];
    [[sInstance valueForKey:@"pages"] enumerateObjectsUsingBlock:^(NSManagedObject *page, BOOL *stop) {
        [scan setValue:[self trimmed:[page valueForKey:kTitle]] forKey:kTitle];
        if ([[page valueForKey:@"isLast"] boolValue]) *stop = YES;
    }];
    char brace = '}';
    [NSNotificationCenter.defaultCenter postNotificationName:@"ScanMigrated" object:nil];
    return brace != 0;
}

@end

@implementation ScanPolicy (Pages)
- (NSString *)class:(NSString *)in default:(NSString *)name { return in ?: name; }
- (NSString *)trimmed:(NSString *)text { return text; }
@end
