// Core Foundation as Swift programs for Apple's systems use it. The compiler loads this module with the C module of
// the same name, in whichever way a program imports that.
//
// Swift on Linux converts between its values and Foundation's classes (`url as NSURL`), but not between these and
// Core Foundation's. The objects are the same. Here the names of Core Foundation stand for Foundation's classes, so
// that `url as CFURL` and `name as String` compile. Core Foundation's own classes are CueString and its kin in
// CuejackBase.h: functions of the C module without a second version here take and return those.

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import CAudioToolbox
@_exported public import CoreFoundation
public import Foundation

public typealias CFArray = NSArray
public typealias CFMutableArray = NSMutableArray
public typealias CFData = NSData
public typealias CFMutableData = NSMutableData
public typealias CFDate = NSDate
public typealias CFDictionary = NSDictionary
public typealias CFMutableDictionary = NSMutableDictionary
public typealias CFError = NSError
public typealias CFNumber = NSNumber
public typealias CFSet = NSSet
public typealias CFString = NSString
public typealias CFMutableString = NSMutableString
public typealias CFURL = NSURL

/// C's truth value of one byte, which Swift on Linux imports as `Bool`.
public typealias DarwinBoolean = Bool

extension DarwinBoolean {
  public var boolValue: Bool { self }
}

// Core Foundation's run loop modes are plain strings on Linux and a type of their own on Apple's systems. These
// members let code that uses that type compile.
extension CFRunLoopMode {
  /// The default mode of run loops.
  public static var defaultMode: CFRunLoopMode { kCFRunLoopDefaultMode }
  /// The set of modes that were declared as common.
  public static var commonModes: CFRunLoopMode { kCFRunLoopCommonModes }
  /// The mode as a string.
  public var rawValue: CFString { _bridged }
}

// MARK: The same objects as Core Foundation's classes, and back

extension CFArray {
  public var _core: CueArray { unsafe unsafeBitCast(self, to: CueArray.self) }
}

extension CFData {
  public var _core: CueData { unsafe unsafeBitCast(self, to: CueData.self) }
}

extension CFDictionary {
  public var _core: CueDictionary { unsafe unsafeBitCast(self, to: CueDictionary.self) }
}

extension CFNumber {
  public var _core: CueNumber { unsafe unsafeBitCast(self, to: CueNumber.self) }
}

extension CFString {
  public var _core: CueString { unsafe unsafeBitCast(self, to: CueString.self) }
}

extension CFURL {
  public var _core: CueURL { unsafe unsafeBitCast(self, to: CueURL.self) }
}

extension CueString {
  public var _bridged: CFString { unsafe unsafeBitCast(self, to: CFString.self) }
}

extension CueURL {
  public var _bridged: CFURL { unsafe unsafeBitCast(self, to: CFURL.self) }
}
