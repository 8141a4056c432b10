import Codecs

/// A parser of fragmented MPEG-4. Each fragment begins with the table of its packets, which follow. The parser
/// waits until a fragment has arrived completely.
struct StreamFragments {
  /// The boxes before the first fragment, and the number of their bytes.
  private let head: [UInt8]
  private let format: PacketFormat
  /// The function that returns the frames of a packet; nil if all have the same number.
  private let counter: (([UInt8]) -> Int)?
  /// True once damage was found. Places in later tables may be wrong.
  private var isDamaged = false
  /// True once the offsets in a table were those of its own fragment.
  private var hasUsualBases = false

  /// Bytes before the first fragment.
  var headBytes: Int { head.count }

  /// - Parameter bytes: The stream from its start to the sound; nil is returned unless it has
  ///   fragments.
  init?(_ bytes: [UInt8], _ format: PacketFormat) {
    var offset = 0
    while let box = Box(bytes, at: offset), box.name != "moof" {
      guard box.bytes > 0, box.bytes < bytes.count - offset else { return nil }
      offset += box.bytes
    }
    guard Box(bytes, at: offset)?.name == "moof" else { return nil }
    head = Array(bytes[..<offset])
    self.format = format
    counter = format.framesPerPacket > 0 ? nil : PacketFrames.counter(format.codec, [])
  }

  enum Step {
    /// The packets of a fragment, with offsets in the stream, and the fragment's bytes.
    case fragment(PacketIndex, bytes: Int)
    /// The next `bytes` bytes hold no packets. Some of them may not have arrived yet.
    case other(bytes: Int)
    /// The parser needs more bytes.
    case more
  }

  /// Parses what is at `offset` of `bytes`, which begin at `position` of the stream.
  mutating func step(_ bytes: [UInt8], at offset: Int, position: Int64) throws(StreamFailure)
    -> Step
  {
    guard let first = Box(bytes, at: offset) else { return .more }
    guard MPEG4Fragments.isKnown(first.name) else { return skip(bytes, from: offset) }
    guard first.name == "moof" else {
      // A box without a size extends to the end of the stream.
      return .other(bytes: first.bytes > 0 ? first.bytes : .max)
    }
    var end = offset
    while true {
      guard let box = Box(bytes, at: end) else { return .more }
      guard MPEG4Fragments.isKnown(box.name), box.bytes > 0, box.bytes <= StreamStart.maximumBytes,
        case let next = end + box.bytes, next - offset <= StreamStart.maximumBytes
      else { return skip(bytes, from: offset) }
      if box.name == "mdat" {
        guard next <= bytes.count else { return .more }
        // Where bytes are missing, the next table comes before the end.
        let table = MPEG4FragmentTable(Array(bytes[offset..<offset + first.bytes]))
        guard let table else { return skip(bytes, from: offset) }
        let cut = MPEG4FragmentTable.candidates(in: bytes[end + 8..<next]).first { place in
          let start = end + 8 + place
          guard let box = Box(bytes, at: start), box.bytes > 0, box.bytes <= next - start else {
            return false
          }
          return MPEG4FragmentTable(Array(bytes[start..<start + box.bytes])) != nil
        }
        end = cut.map { end + 8 + $0 } ?? next
        var fragment = Array(bytes[offset..<end])
        let place = position + Int64(offset)
        let room = Int64(end - (next - box.bytes) - 8)
        let (end, isShifted) = (position + Int64(end), isDamaged || hasUsualBases)
        hasUsualBases = hasUsualBases || table.hasUsualBases(at: place, end: end, room: room)
        let changes = table.changes(at: place, end: end, room: room, isShifted: isShifted)
        if cut != nil { isDamaged = true }
        for change in changes {
          fragment.replaceSubrange(
            change.offset..<change.offset + change.bytes.count, with: change.bytes)
        }
        return .fragment(try packets(fragment, at: place), bytes: fragment.count)
      }
      end = next
    }
  }

  /// Passes over damage, up to where the next table may begin.
  private mutating func skip(_ bytes: [UInt8], from offset: Int) -> Step {
    isDamaged = true
    let next = MPEG4FragmentTable.candidates(in: bytes[(offset + 1)...]).first
    // The name may not be there completely.
    return .other(bytes: next.map { $0 + 1 } ?? max(1, bytes.count - offset - 7))
  }

  private func packets(_ fragment: [UInt8], at offset: Int64) throws(StreamFailure) -> PacketIndex {
    let store = FragmentStore(head, fragment, at: offset)
    var index = PacketIndex()
    do throws(SoundFileError) {
      let demuxer = try Demuxer(store, name: "mp4", options: ["ignore_editlist": "1"])
      let scanner = try PacketScanner(store, demuxer, format, .told, frames: counter)
      while try scanner.step(&index) {}
    } catch {
      throw .damaged("\(error)")
    }
    return index
  }

  /// The header of a box.
  private struct Box {
    let name: String
    /// Bytes of the box with its header; 0 if it extends to the end.
    let bytes: Int

    /// Parses a header; nil if it is not all present.
    init?(_ bytes: [UInt8], at offset: Int) {
      guard offset >= 0, bytes.count - offset >= 16 else { return nil }
      let size = bytes.big(at: offset, bytes: 4)
      self.bytes = Int(clamping: size == 1 ? bytes.big(at: offset + 8, bytes: 8) : size)
      // A size that is none has no name either.
      name = self.bytes == 0 || self.bytes >= 8 ? bytes.name(at: offset + 4) : ""
    }
  }
}

/// A file that consists of a stream's head and one of its fragments at the fragment's offset. What lies
/// between them is one empty box.
private final class FragmentStore: ReadOnlyStore {
  let name = "the stream"
  private let head: [UInt8]
  private let fragment: [UInt8]
  private let offset: Int64

  init(_ head: [UInt8], _ fragment: [UInt8], at offset: Int64) {
    let gap = offset - Int64(head.count)
    let box =
      gap >= 16
      ? [0, 0, 0, 1] + ChunkID("free").bytes + [UInt8](gap, count: 8, bigEndian: true) : []
    self.head = head + box
    self.fragment = fragment
    self.offset = max(offset, Int64(self.head.count))
  }

  func byteCount() -> Int64 { offset + Int64(fragment.count) }

  func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard position >= 0, position < byteCount() else { return 0 }
    let count = Int(min(Int64(buffer.count), byteCount() - position))
    for index in 0..<count {
      let here = position + Int64(index)
      unsafe buffer[index] =
        here < head.count ? head[Int(here)] : here < offset ? 0 : fragment[Int(here - offset)]
    }
    return count
  }
}
