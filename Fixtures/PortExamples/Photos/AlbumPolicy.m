#import "AlbumPolicy.h"

@implementation AlbumPolicy

- (BOOL)endEntityMapping:(NSEntityMapping *)mapping manager:(NSMigrationManager *)manager error:(NSError **)error {
    return [super endEntityMapping:mapping manager:manager error:error];
}

- (BOOL)createDestinationInstancesForSourceInstance:(NSManagedObject *)source
                                      entityMapping:(NSEntityMapping *)mapping
                                            manager:(NSMigrationManager *)manager
                                              error:(NSError **)error {
    NSArray *keys = @[ @"title", @"added" ];
    NSManagedObject *album =
        [NSEntityDescription insertNewObjectForEntityForName:mapping.destinationEntityName
                                      inManagedObjectContext:[manager destinationContext]];
    for (NSString *key in keys) {
        [album setValue:[source valueForKey:key] forKey:key];
    }
    [album setValue:[self slugForTitle:[source valueForKey:@"title"] separator:@"-"] forKey:@"slug"];
    [manager associateSourceInstance:source withDestinationInstance:album forEntityMapping:mapping];
    return YES;
}

- (NSString *)slugForTitle:(NSString *)title separator:(NSString *)separator {
    return [[title lowercaseString] stringByReplacingOccurrencesOfString:@" " withString:separator];
}

- (NSNumber *)numberOfPhotos:(NSSet *)photos {
    return @(photos.count);
}

@end
