import CoreFoundation
import Foundation

// Collections that C functions give out. They are Foundation's: a subscript of one that Core Foundation made crashes in
// Swift programs.

func makeDictionary(_ entries: [(String, AnyObject)]) -> CFMutableDictionary {
  NSMutableDictionary(objects: entries.map(\.1), forKeys: entries.map { $0.0 as NSString })
}

func makeArray(_ values: [AnyObject]) -> CFMutableArray { NSMutableArray(array: values) }
