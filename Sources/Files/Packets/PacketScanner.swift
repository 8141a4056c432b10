import Codecs
import Glibc
import Timeline

/// A scanner for packets that no table in the file lists, one after another.
///
/// One thread at a time; every call may block on the store.
@safe
final class PacketScanner {
  /// How the scanner determines a packet's position in the file.
  enum Locations {
    /// libavformat gives the position.
    case told
    /// The scanner searches for the packet's bytes from the end of the previous packet.
    case searched
  }

  /// How the scanner tells packets from other bytes, which libavformat may deliver in damaged files.
  enum Sieve {
    /// Takes every packet.
    case none
    /// Each packet is a frame with a header that gives its size. Another form of frames begins with two
    /// of them.
    case frames(FrameKind)
    /// Frames are numbered and have checksums.
    case flac(FLACScanner)
  }

  private let store: any ByteStore
  private let demuxer: Demuxer
  private let format: PacketFormat
  private let locations: Locations
  private var sieve: Sieve
  /// The function that returns the frames of a packet; nil to use libavformat's duration.
  private let frames: (([UInt8]) -> Int)?
  /// True if all packets have the same frames, so that they need not be stored for each.
  private let isRegular: Bool
  private var end: Int64 = 0
  private let byteCount: Int64
  /// Buffer for file contents that are compared with a packet.
  private var window: [UInt8] = []
  private(set) var skippedFrames = 0
  private(set) var discardedFrames = 0
  /// Frames from the first packet's start to the latest end of a packet.
  private(set) var spannedFrames: Int64 = 0
  private var firstFrame: Int64?
  private(set) var isAtEnd = false

  /// The first frame's header, and the latest one's.
  private var first: FrameHead?
  private var latest: FrameHead?
  /// A frame in another form, which is listed if the next one has it too.
  private var held: (head: FrameHead, offset: Int64)?
  /// Frames before the latest change of form, and seconds since then.
  private var changed: (frames: Int64, seconds: Double) = (0, 0)
  /// The first change of form, in frames and words; nil if there is none.
  private var firstChange: (frame: Int64, form: String)?
  private var hasChanged: Bool { firstChange != nil }
  /// Samples of each channel in FLAC's first frame, and in its latest one.
  private var blockFrames: Int64 = 0
  private var latestFrames = Int.max
  /// The difference between the numbers of FLAC's frames and the list.
  private var numberOffset: Int64?
  /// End of the latest packet in the list.
  private var goodEnd: Int64?
  /// Bytes between packets that belong to nothing, where they begin in frames, and lost frames of known
  /// length.
  private(set) var damagedBytes: Int64 = 0
  private(set) var damagedFrame: Int64?
  private(set) var missingFrames: Int64 = 0
  /// True if the file ends within a packet, and the frames before it.
  private var isCut = false
  private var cutFrame: Int64 = 0

  init(
    _ store: any ByteStore, _ demuxer: Demuxer, _ format: PacketFormat, _ locations: Locations,
    _ sieve: Sieve = .none, frames: (([UInt8]) -> Int)? = nil
  ) throws(SoundFileError) {
    self.store = store
    self.demuxer = demuxer
    self.format = format
    self.locations = locations
    self.sieve = sieve
    self.frames = frames
    isRegular = format.framesPerPacket > 0
    byteCount = try store.byteCount()
  }

  /// Appends the next packet to the index. Returns false if there is none.
  func step(_ index: inout PacketIndex) throws(SoundFileError) -> Bool {
    guard !isAtEnd, index.count < min(PacketIndex.maximumCount, byteCount),
      let packet = try unsafe demuxer.next(), let offset = try unsafe locate(packet)
    else {
      isAtEnd = true
      let endsInside = try endsWithinFrame()
      isCut = demuxer.isCut || endsInside
      cutFrame = index.frames(each: format.framesPerPacket)
      return false
    }
    unsafe skippedFrames += packet.skippedFrames
    unsafe discardedFrames += packet.discardedFrames
    if let first = unsafe packet.firstFrame {
      if firstFrame == nil { firstFrame = first }
      let (start, isTooFar) = first.subtractingReportingOverflow(firstFrame ?? 0)
      let frames = unsafe packet.frames > 0 ? packet.frames : Int64(format.framesPerPacket)
      let (end, isTooLong) = start.addingReportingOverflow(frames)
      // Implausible times are ignored.
      if !isTooFar && !isTooLong { spannedFrames = max(spannedFrames, end) }
    }
    switch sieve {
    case .none:
      let frames = unsafe self.frames.map { unsafe Int64($0(Array(packet.bytes))) } ?? packet.frames
      let piece = unsafe PacketIndex.Piece(offset: offset, bytes: packet.bytes.count)
      index.append([piece], frames: isRegular ? 0 : frames)
    case .frames(let kind):
      let count = unsafe packet.bytes.count
      let start = unsafe frameStart(packet.bytes, kind)
      let bytes = unsafe Array(packet.bytes[start...].prefix(16))
      try take(bytes, count - start, kind, at: offset + Int64(start), &index)
    case .flac(var scanner):
      let bytes = unsafe Array(packet.bytes)
      for frame in scanner.frames(in: bytes) { try take(frame, at: offset, &index) }
      sieve = .flac(scanner)
    }
    return true
  }

  private func locate(_ packet: Demuxer.Packet) throws(SoundFileError) -> Int64? {
    let size = unsafe packet.bytes.count
    guard size > 0 else { return nil }
    switch locations {
    case .told:
      let offset = unsafe packet.offset
      return offset >= 0 && offset <= byteCount - Int64(size) ? offset : nil
    case .searched:
      if end == 0 { end = unsafe max(0, packet.offset) }
      guard let offset = try unsafe find(packet.bytes) else { return nil }
      end = offset + Int64(size)
      return offset
    }
  }

  /// Returns true if the file ends within a frame.
  private func endsWithinFrame() throws(SoundFileError) -> Bool {
    guard let goodEnd, case let left = byteCount - goodEnd, left > 0 else { return false }
    let start = try store.bytes(at: goodEnd, count: Int(min(left, 16))) ?? []
    switch sieve {
    case .none: return false
    case .frames(let kind):
      guard start.count >= kind.headBytes else {
        return start.first == 0xFF && left < kind.headBytes
      }
      guard let head = kind.head(start, at: 0) else { return false }
      return head.kind == latest?.kind && Int64(head.bytes) > left
    case .flac:
      guard case .head = FLACScanner.Head.read(start, at: 0) else { return false }
      return true
    }
  }

  // MARK: Frames with a header

  /// Returns where the frame begins in a packet of libavformat's, which may have other bytes before it,
  /// such as the tag of a joined file.
  private func frameStart(_ packet: UnsafeRawBufferPointer, _ kind: FrameKind) -> Int {
    let head = unsafe kind.head(Array(packet.prefix(16)) + Self.padding, at: 0)
    guard first != nil, head.map({ $0.bytes > packet.count }) ?? true else { return 0 }
    let bytes = unsafe Array(packet)
    return (1..<max(1, bytes.count - kind.headBytes)).first {
      kind.head(bytes, at: $0)?.bytes == bytes.count - $0
    } ?? 0
  }

  private static let padding = [UInt8](repeating: 0, count: 16)

  private func take(
    _ start: [UInt8], _ bytes: Int, _ kind: FrameKind, at offset: Int64,
    _ index: inout PacketIndex
  ) throws(SoundFileError) {
    guard start.count >= kind.headBytes, let head = kind.head(start, at: 0),
      // Other bytes may follow the frame, unless its header is a mistake.
      head.bytes == bytes
        || head.bytes < bytes && head.kind == latest?.kind
    else {
      // Frames whose size the header does not give are taken as libavformat finds them.
      if first == nil { sieve = .none }
      held = nil
      if first == nil { index.append([.init(offset: offset, bytes: bytes)], frames: 0) }
      return
    }
    if let latest, latest.kind != head.kind || latest.channels != head.channels {
      guard let other = held, other.head.kind == head.kind else {
        held = (head, offset)
        return
      }
      change(to: head, &index)
      try append(other.head, at: other.offset, &index)
    }
    if first == nil { first = head }
    try append(head, at: offset, &index)
  }

  /// Begins a part of the stream with another rate or other channels.
  private func change(to head: FrameHead, _ index: inout PacketIndex) {
    if !hasChanged { index.vary(from: format.framesPerPacket) }
    firstChange =
      firstChange ?? (
        index.frames,
        "\(head.channels) channel\(head.channels == 1 ? "" : "s") at \(Int(held: head.sampleRate)) Hz"
      )
    changed = (index.frames, 0)
    latest = head
    held = nil
  }

  private func append(
    _ head: FrameHead, at offset: Int64, _ index: inout PacketIndex
  ) throws(SoundFileError) {
    held = nil
    latest = head
    try passOver(to: offset, index)
    goodEnd = offset + Int64(head.bytes)
    var frames: Int64 = 0
    if hasChanged, let first {
      // The frames that the packet takes at the rate of the first ones.
      let each = Double(format.framesPerPacket) / Double(first.frames) * first.sampleRate
      changed.seconds += Double(head.frames) / head.sampleRate
      frames = changed.frames + Int64(held: (changed.seconds * each).rounded()) - index.frames
    }
    // A decoder needs the header where it differs from the first one.
    let skipped = hasChanged ? 0 : head.headBytes
    index.append(
      [PacketIndex.Piece(offset: offset + Int64(skipped), bytes: head.bytes - skipped)],
      frames: max(0, frames))
  }

  // MARK: FLAC

  private func take(
    _ frame: FLACScanner.Frame, at offset: Int64, _ index: inout PacketIndex
  ) throws(SoundFileError) {
    let each = format.framesPerPacket
    // Another stream follows one whose last frame is shorter.
    if latestFrames < each { index.vary(from: each, last: latestFrames) }
    latestFrames = frame.head.frames
    let areEqual = each > 0 && index.frames == 0
    let listed = index.frames(each: each)
    if blockFrames == 0 { blockFrames = Int64(each > 0 ? each : frame.head.frames) }
    let number = frame.head.number * (frame.head.countsSamples ? 1 : blockFrames)
    let start = offset + Int64(frame.range.lowerBound)
    let lost = number - (numberOffset ?? number) - listed
    let most = Int64(each > 0 ? each : 0x8000)
    // Another stream may begin here; more than an hour is no plausible gap.
    if lost > 0, Double(missingFrames + lost) <= 3600 * format.sampleRate, lost / most < 1 << 16 {
      missingFrames += lost
      damagedFrame = damagedFrame ?? listed
      for first in stride(from: 0, to: lost, by: Int(most)) {
        index.append(
          [PacketIndex.Piece(offset: start, bytes: 0)],
          frames: areEqual ? 0 : min(most, lost - first))
      }
    }
    try passOver(to: start, index, at: listed)
    numberOffset = number - index.frames(each: each)
    goodEnd = offset + Int64(frame.range.upperBound)
    index.append(
      [PacketIndex.Piece(offset: start, bytes: frame.range.count)],
      frames: areEqual ? 0 : Int64(frame.head.frames))
  }

  /// Counts the bytes between two packets, unless they are tags.
  private func passOver(
    to offset: Int64, _ index: PacketIndex, at frame: Int64? = nil
  ) throws(SoundFileError) {
    guard let goodEnd, offset > goodEnd else { return }
    let start = try store.bytes(at: goodEnd, count: Int(min(8, offset - goodEnd))) ?? []
    let names = ["ID3", "TAG", "APETAGEX", "fLaC"]
    if names.contains(where: { start.starts(with: $0.utf8) }) { return }
    damagedBytes += offset - goodEnd
    damagedFrame = damagedFrame ?? frame ?? index.frames(each: format.framesPerPacket)
  }

  /// Describes the damage; nil if there is none.
  var damage: String? {
    guard let damagedFrame else { return nil }
    let lost = missingFrames > 0 ? ", \(missingFrames) frames are missing" : ""
    return "the file is damaged at \(time(damagedFrame)): \(damagedBytes) bytes are no sound\(lost)"
  }

  /// Describes the end of a file that ends within a packet; nil for others.
  var cut: String? {
    isCut ? "the file is cut short at \(time(cutFrame)): it ends within a packet" : nil
  }

  /// Describes the first change of form; nil if there is none.
  var change: String? {
    guard let (frame, form) = firstChange else { return nil }
    return
      "the sound changes its form at \(time(frame)), to \(form): it is converted to the first form"
  }

  private func time(_ frame: Int64) -> String { exactClock(Double(frame) / format.sampleRate) }

  /// Returns the offset of the given bytes in the file, at or after the end of the previous packet.
  private func find(_ bytes: UnsafeRawBufferPointer) throws(SoundFileError) -> Int64? {
    // Limit on the tags and damaged data between two packets.
    var reach = Int64(1 << 20)
    var start = end
    while reach > 0, start <= byteCount - Int64(bytes.count) {
      let more = start == end ? 0 : 1 << 16
      let count = Int(min(Int64(bytes.count + more), byteCount - start))
      if window.count < count { window = [UInt8](repeating: 0, count: count) }
      let found = unsafe window.withUnsafeMutableBytes { window in
        Result { () throws(SoundFileError) -> Int? in
          let there = unsafe UnsafeMutableRawBufferPointer(rebasing: window[..<count])
          guard try unsafe store.read(at: start, into: there) == count,
            let whole = there.baseAddress, let part = bytes.baseAddress
          else { return nil }
          var index = 0
          while index <= count - bytes.count,
            let hit = unsafe memchr(
              whole + index, Int32(bytes[0]), count - bytes.count - index + 1)
          {
            if unsafe memcmp(hit, part, bytes.count) == 0 { return unsafe hit - whole }
            index = unsafe hit - whole + 1
          }
          return nil
        }
      }
      if let index = try found.get() { return start + Int64(index) }
      let step = Int64(count - bytes.count + 1)
      start += step
      reach -= step
    }
    return nil
  }
}
