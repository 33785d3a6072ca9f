#import "LegacyPolicy.h"

@interface GarageLegacyPolicy ()
- (NSString *)plateOf:(NSString *)text;
@end

@interface NSString (Plates)
- (NSString *)plate;
@end

@implementation NSObject (GaragePolicies)
- (BOOL)beginEntityMapping:(NSEntityMapping *)mapping manager:(NSMigrationManager *)manager error:(NSError **)error {
    return YES;
}
@end

@interface GarageLegacyPolicy : NSEntityMigrationPolicy
@end

@implementation GarageLegacyPolicy
- (NSString *)plateOf:(NSString *)text { return [text plate]; }
@end
