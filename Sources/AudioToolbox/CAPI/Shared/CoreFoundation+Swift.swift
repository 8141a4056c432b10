public import CoreFoundation
public import FoundationEssentials

// Linux has no toll-free bridging: code for Apple's systems that says `url as CFURL` says
// `url.cfURL` here. The extensions below replace the other casts.

extension String {
  /// The text as a Core Foundation string, in place of `text as CFString`.
  ///
  /// ```swift
  /// var uid = "jack:studio".cfString
  /// AudioQueueSetProperty(
  ///   reference, kAudioQueueProperty_CurrentDevice, &uid, UInt32(MemoryLayout<CFString>.size))
  /// ```
  public var cfString: CFString {
    let units = Array(utf16)
    return unsafe CFStringCreateWithCharacters(nil, units, units.count)
  }
}

extension CFString {
  /// The text as a Swift string, in place of `text as String`. Halves of surrogate pairs become
  /// U+FFFD.
  ///
  /// ```swift
  /// let name = CFURLCopyLastPathComponent(cfURL).string
  /// ```
  public var string: String {
    let length = CFStringGetLength(self)
    return unsafe withUnsafeTemporaryAllocation(of: UniChar.self, capacity: length) { units in
      guard let first = units.baseAddress else { return "" }
      unsafe CFStringGetCharacters(self, CFRange(location: 0, length: length), first)
      return unsafe String(decoding: units, as: UTF16.self)
    }
  }
}

extension URL {
  /// The URL as a Core Foundation URL, in place of `url as CFURL`.
  ///
  /// ```swift
  /// var file: AudioFileID?
  /// let status = AudioFileOpenURL(url.cfURL, .readPermission, 0, &file)
  /// ```
  public var cfURL: CFURL {
    // Bytes rather than a string: they need not be valid UTF-8 once percent signs are undone.
    let bytes = Array(relativeString.utf8)
    return unsafe CFURLCreateWithBytes(
      nil, bytes, bytes.count, CFStringBuiltInEncodings.UTF8.rawValue, baseURL?.absoluteURL.cfURL)
  }
}

extension CFURL {
  /// The URL as Foundation's type, in place of `url as URL`. Nil if Foundation does not accept the
  /// URL.
  ///
  /// ```swift
  /// let isThere = (try? cfURL.url?.checkResourceIsReachable()) ?? false
  /// ```
  public var url: URL? {
    guard let text = CFURLGetString(self)?.string else { return nil }
    return URL(string: text, relativeTo: CFURLGetBaseURL(self)?.url)
  }
}

// Core Foundation's run loop modes are plain strings on Linux and a type of their own on Apple's
// systems. These members let code that uses that type compile.
extension CFRunLoopMode {
  /// The default mode of run loops.
  public static var defaultMode: CFRunLoopMode { kCFRunLoopDefaultMode }
  /// The set of modes that were declared as common.
  public static var commonModes: CFRunLoopMode { kCFRunLoopCommonModes }
  /// The mode as a string. On Linux it already is one.
  public var rawValue: CFString { self }
}
