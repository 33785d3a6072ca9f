#import "RadioBasePolicy.h"

@implementation RadioBasePolicy

- (BOOL)beginEntityMapping:(NSEntityMapping *)mapping manager:(NSMigrationManager *)manager error:(NSError **)error {
    return [super beginEntityMapping:mapping manager:manager error:error];
}

- (NSString *)frequencyOf:(NSNumber *)hertz {
    return [NSString stringWithFormat:@"%.1f MHz", hertz.doubleValue / 1e6];
}

@end
