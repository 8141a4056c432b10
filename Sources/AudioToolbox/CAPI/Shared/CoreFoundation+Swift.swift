import CAudioToolbox
import CoreFoundation

extension String {
  /// The text as a string of Core Foundation's own, which C programs can read without a copy.
  var cfString: CFString {
    let units = Array(utf16)
    return unsafe CFStringCreateWithCharacters(nil, units, units.count)._bridged
  }
}

extension CFString {
  /// The text. Halves of surrogate pairs become U+FFFD.
  var string: String {
    let length = CFStringGetLength(self)
    return unsafe withUnsafeTemporaryAllocation(of: UniChar.self, capacity: length) { units in
      guard let first = units.baseAddress else { return "" }
      unsafe CFStringGetCharacters(_core, CFRange(location: 0, length: length), first)
      return unsafe String(decoding: units, as: UTF16.self)
    }
  }
}
