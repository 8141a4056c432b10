/// The header of a box of an MPEG-4 file.
struct MPEG4Box {
  let name: String
  /// Offset of the content in the file.
  let body: Int64
  /// Offset of the box's end, which may lie beyond the end of the file.
  let end: Int64
  /// True if the box extends to the end of the file or of the box around it.
  let isOpen: Bool

  /// Reads the header at `offset`; nil if it is not all present, or its size is not valid. Blocks.
  ///
  /// - Parameter end: End of the file or of the box around this one.
  init?(at offset: Int64, in store: any ByteStore, end: Int64) throws(SoundFileError) {
    guard end - offset >= 8, let head = try store.bytes(at: offset, count: 8) else { return nil }
    var size = Int64(head.big(at: 0, bytes: 4))
    var body = offset + 8
    if size == 1 {
      guard let long = try store.bytes(at: body, count: 8) else { return nil }
      size = Int64(clamping: long.big(at: 0, bytes: 8))
      body += 8
    }
    name = head.name(at: 4)
    isOpen = size == 0
    if isOpen { size = end - offset }
    guard size >= body - offset, size <= .max - offset else { return nil }
    self.body = body
    self.end = offset + size
  }
}
