// The plugins with a file compile this file, too.

extension StaticString {
  /// The text for C, which ends with a zero byte.
  var cString: UnsafePointer<CChar> {
    unsafe UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)
  }
}
