/// A scanner for frames in a stream that consists only of frames. It skips anything else.
struct FrameScanner {
  let kind: FrameKind
  /// Number of further headers that must follow, each where the previous one says, before the first
  /// header is accepted.
  let proof: Int
  /// The first frame's header, or that of the first frame in the latest form.
  private(set) var first: FrameHead?
  /// True once the form has changed. A decoder then needs headers that are not part of the packets.
  private(set) var hasChanged = false
  /// True while the next frame begins where the last one ended.
  private(set) var isInStep = false

  enum Step {
    /// A complete frame at an offset in the given bytes.
    case frame(FrameHead, at: Int)
    /// The scanner needs more bytes. Bytes before the offset may be discarded.
    case more(from: Int)
  }

  init(_ kind: FrameKind, proof: Int) {
    self.kind = kind
    self.proof = proof
  }

  /// Tells the scanner that the next bytes do not continue the last ones.
  mutating func loseStep() { isInStep = false }

  /// Finds the first complete frame at or after `offset`.
  mutating func step(_ bytes: [UInt8], from offset: Int) -> Step {
    var offset = offset
    /// A frame in another form, which needs more bytes to be proven.
    var undecided: Int?
    while bytes.count - offset >= kind.headBytes {
      guard let head = kind.head(bytes, at: offset) else {
        isInStep = false
        offset += 1
        continue
      }
      if !isInStep || !fits(head) {
        isInStep = false
        let isProven = isProven(head, bytes, at: offset)
        if isProven == nil, fits(head) { return .more(from: undecided ?? offset) }
        guard isProven == true else {
          if isProven == nil { undecided = undecided ?? offset }
          offset += 1
          continue
        }
        isInStep = true
        if !fits(head) { hasChanged = true }
        if first == nil || !fits(head) { first = head }
      }
      guard bytes.count - offset >= head.bytes else { return .more(from: offset) }
      return .frame(head, at: offset)
    }
    return .more(from: undecided ?? offset)
  }

  private func fits(_ head: FrameHead) -> Bool { first.map { $0.kind == head.kind } ?? true }

  /// Returns true if the required headers follow; nil if there are too few bytes to tell.
  private func isProven(_ head: FrameHead, _ bytes: [UInt8], at offset: Int) -> Bool? {
    var next = offset + head.bytes
    // Another form needs more proof than a frame that is like those before.
    for _ in 0..<(first != nil && fits(head) ? 1 : max(2, proof)) {
      guard bytes.count - next >= kind.headBytes else { return nil }
      guard let other = kind.head(bytes, at: next), other.kind == head.kind else { return false }
      next += other.bytes
    }
    return true
  }
}
