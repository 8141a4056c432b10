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
    /// Takes every packet. Where the next one's time is later than the end of the last one, frames are
    /// lost: before the first packet, too, if the start is damaged.
    case times(startIsDamaged: Bool)
    /// Each packet is a frame with a header, which the scanner finds without libavformat.
    case frames(FrameFinder)
    /// Frames are numbered and have checksums. The scanner finds them without libavformat, from an offset on.
    case flac(FLACScanner, from: Int64)
  }

  private let store: any ByteStore
  /// Nil for frames that the scanner finds by itself.
  private let demuxer: Demuxer?
  private let format: PacketFormat
  private let locations: Locations
  private var sieve: Sieve
  /// The function that returns the frames of a packet; nil to use libavformat's duration.
  private let frames: (([UInt8]) -> Int)?
  /// True if all packets have the same frames, so that they need not be stored for each.
  private let isRegular: Bool
  private var end: Int64 = 0
  private let byteCount: Int64
  /// Bytes in which FLAC frames are searched, their offset in the file, and how many of them are done.
  private var searched: (bytes: [UInt8], offset: Int64, done: Int) = ([], 0, 0)
  /// Buffer for file contents that are compared with a packet.
  private var window: [UInt8] = []
  /// Frames from the first packet's start to the latest end of a packet.
  private(set) var spannedFrames: Int64 = 0
  /// True if a packet has an earlier time than one before it, as in a joined file.
  private(set) var goesBack = false
  private var firstFrame: Int64?
  private(set) var isAtEnd = false

  /// The first frame's header, and the latest one's.
  private var first: FrameHead?
  private var latest: FrameHead?
  /// Frames before the part of the stream in its latest form, the frames of that part at its own rate, and
  /// frames of the first rate for each of them.
  private var part: (start: Int64, frames: Int64, scale: Double) = (0, 0, 1)
  /// The first change of form, in frames and words; nil if there is none.
  private var firstChange: (frame: Int64, form: String)?
  private var hasChanged: Bool { firstChange != nil }
  /// The packets that hold later STREAMINFO of FLAC for the decoder.
  private(set) var setups: [Range<Int64>] = []
  /// Where sound of another kind follows, which is not read; nil if there is none.
  private var otherSoundOffset: Int64?
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
    _ store: any ByteStore, _ demuxer: Demuxer?, _ format: PacketFormat, _ locations: Locations,
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
    let isFull = isAtEnd || index.count >= min(PacketIndex.maximumCount, byteCount)
    switch sieve {
    case .frames(var finder):
      defer { sieve = .frames(finder) }
      if !isFull, try take(&finder, &index) { return true }
    case .flac(var scanner, let start):
      if searched.offset < start { searched.offset = start }
      defer { sieve = .flac(scanner, from: start) }
      if !isFull, try search(&scanner, &index) { return true }
    case .none, .times: break
    }
    guard !isFull, let packet = try unsafe demuxer?.next(),
      let offset = try unsafe locate(packet)
    else {
      isAtEnd = true
      if let goodEnd { _ = try endsSound(at: goodEnd) }
      let endsInside = try endsWithinFrame()
      isCut = otherSoundOffset == nil && (demuxer?.isCut == true || endsInside)
      cutFrame = index.frames(each: format.framesPerPacket)
      return false
    }
    let counted = unsafe frames.map { unsafe Int64($0(Array(packet.bytes))) } ?? packet.frames
    if let first = unsafe packet.firstFrame {
      if firstFrame == nil {
        if case .times(true) = sieve { firstFrame = 0 } else { firstFrame = first }
      }
      let (start, isTooFar) = first.subtractingReportingOverflow(firstFrame ?? 0)
      let frames = counted > 0 ? counted : Int64(format.framesPerPacket)
      let (end, isTooLong) = start.addingReportingOverflow(frames)
      // Implausible times are ignored.
      if !isTooFar && !isTooLong { spannedFrames = max(spannedFrames, end) }
    }
    if case .times = sieve, let time = unsafe packet.firstFrame {
      let origin = firstFrame ?? time
      let listed = index.frames(each: format.framesPerPacket)
      let (lost, isWild) = (time &- origin).subtractingReportingOverflow(listed)
      // Times in coarse units are rounded.
      let each = Int64(isRegular ? format.framesPerPacket : 1)
      let whole = isWild || lost < 64 ? 0 : (lost + each / 2) / each * each
      if whole > 0 { addMissing(whole, at: offset, listed, isRegular, &index) }
      if !isWild, lost < -Int64(max(format.framesPerPacket, 4096)) { goesBack = true }
    }
    let piece = unsafe PacketIndex.Piece(offset: offset, bytes: packet.bytes.count)
    index.append([piece], frames: isRegular ? 0 : counted)
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
    case .none, .times: return false
    case .frames(var finder):
      let room = finder.part.upperBound - goodEnd
      guard let head = try finder.head(at: goodEnd) else {
        return start.first == 0xFF && room > 0 && room < finder.kind.headBytes
      }
      return head.kind == latest?.kind && Int64(head.bytes) > room
    case .flac:
      guard case .head = FLACScanner.Head.read(start, at: 0) else { return false }
      return true
    }
  }

  // MARK: Frames with a header

  /// Lists the next frame. Returns false if there is none.
  private func take(
    _ finder: inout FrameFinder, _ index: inout PacketIndex
  ) throws(SoundFileError) -> Bool {
    guard
      let (head, offset) = try finder.next(
        from: goodEnd ?? finder.part.lowerBound, after: latest, isInStep: goodEnd != nil)
    else { return false }
    if let goodEnd, offset > goodEnd, try endsSound(at: goodEnd) { return false }
    if let latest, latest.kind != head.kind || latest.channels != head.channels {
      if !hasChanged { index.vary(from: format.framesPerPacket) }
      // The frames that each takes at the rate of the first ones.
      let each = Double(format.framesPerPacket) / Double(first?.frames ?? head.frames)
      let firstRate = first?.sampleRate ?? head.sampleRate
      // HE-AAC has a higher rate than its headers say.
      change(
        index, head.channels, head.sampleRate * format.sampleRate / firstRate,
        scale: each * firstRate / head.sampleRate)
    }
    if first == nil { first = head }
    latest = head
    try passOver(to: offset, index)
    goodEnd = offset + Int64(head.bytes)
    // A decoder needs the header where it differs from the first one.
    let skipped = hasChanged ? 0 : head.headBytes
    index.append(
      [PacketIndex.Piece(offset: offset + Int64(skipped), bytes: head.bytes - skipped)],
      frames: hasChanged ? scaled(Int64(head.frames), index) : 0)
    return true
  }

  /// Begins a part of the stream with another rate or other channels.
  private func change(
    _ index: PacketIndex, _ channels: Int, _ sampleRate: Double, scale: Double
  ) {
    firstChange =
      firstChange ?? (
        index.frames,
        "\(channels) channel\(channels == 1 ? "" : "s") at \(Int(held: sampleRate)) Hz"
      )
    part = (index.frames, 0, scale)
  }

  /// Returns the frames of the first rate for frames of the latest one, which are counted.
  private func scaled(_ frames: Int64, _ index: PacketIndex) -> Int64 {
    part.frames += frames
    let end = part.start + Int64(held: (Double(part.frames) * part.scale).rounded())
    return max(0, end - index.frames)
  }

  // MARK: FLAC

  /// Bytes that one reading of the file takes.
  private static let readBytes: Int64 = 1 << 16

  /// Searches for the next frame. Returns false if there is none.
  private func search(
    _ scanner: inout FLACScanner, _ index: inout PacketIndex
  ) throws(SoundFileError) -> Bool {
    while true {
      switch scanner.step(searched.bytes, from: searched.done) {
      case .frame(let head, let bytes, let start):
        searched.done = start + bytes
        try take(head, bytes, at: searched.offset + Int64(start), &index)
        return !isAtEnd
      case .stream(let info, let isOther, let start):
        let place = searched.offset + Int64(start)
        if let goodEnd, try endsSound(at: goodEnd) { return false }
        // The last frame of a stream may be shorter.
        if isOther || latestFrames < format.framesPerPacket {
          index.vary(
            from: format.framesPerPacket, last: min(latestFrames, format.framesPerPacket))
        }
        try passOver(to: place, index)
        let end =
          try FLACHead(store, at: place)?.soundOffset ?? place + Int64(FLACStreamInfo.bytes)
        (searched, goodEnd) = (([], end, 0), end)
        scanner.isAtEnd = false
        guard isOther else { continue }
        change(index, info.channels, info.sampleRate, scale: format.sampleRate / info.sampleRate)
        (blockFrames, numberOffset) = (info.blockFrames, nil)
        setups.append(index.count..<index.count + 1)
        index.append([PacketIndex.Piece(offset: place, bytes: FLACStreamInfo.bytes)], frames: 0)
      case .more(let start):
        // At the end no more bytes can prove that a frame begins here, so its first byte is passed over.
        let dropped = scanner.isAtEnd ? min(start + 1, searched.bytes.count) : start
        searched.bytes.removeFirst(dropped)
        searched.offset += Int64(dropped)
        searched.done = 0
        let end = searched.offset + Int64(searched.bytes.count)
        let left = byteCount - end
        if scanner.isAtEnd {
          scanner.loseStep()
          if searched.bytes.isEmpty { return false }
        }
        let more = try store.bytes(at: end, count: Int(max(0, min(Self.readBytes, left))))
        searched.bytes += more ?? []
        scanner.isAtEnd = left <= Self.readBytes
      }
    }
  }

  /// Lists a frame of some bytes.
  private func take(
    _ head: FLACScanner.Head, _ bytes: Int, at start: Int64, _ index: inout PacketIndex
  ) throws(SoundFileError) {
    let each = format.framesPerPacket
    // Another stream follows one whose last frame is shorter.
    if latestFrames < each { index.vary(from: each, last: latestFrames) }
    if let goodEnd, start > goodEnd, try endsSound(at: goodEnd) { return }
    latestFrames = hasChanged ? .max : head.frames
    let areEqual = each > 0 && index.frames == 0 && !hasChanged
    let place = index.frames(each: each)
    let listed = hasChanged ? part.frames : place
    if blockFrames == 0 { blockFrames = Int64(each > 0 ? each : head.frames) }
    let number = head.number * (head.countsSamples ? 1 : blockFrames)
    let lost = number - (numberOffset ?? number) - listed
    // Another stream may begin here.
    if lost > 0 {
      addMissing(hasChanged ? scaled(lost, index) : lost, at: start, nil, areEqual, &index)
    }
    try passOver(to: start, index, at: place)
    numberOffset = number - (hasChanged ? part.frames : index.frames(each: each))
    goodEnd = start + Int64(bytes)
    let frames = Int64(head.frames)
    index.append(
      [PacketIndex.Piece(offset: start, bytes: bytes)],
      frames: areEqual ? 0 : hasChanged ? scaled(frames, index) : frames)
  }

  /// Lists packets without bytes for lost frames. More than an hour is no plausible gap.
  private func addMissing(
    _ lost: Int64, at offset: Int64, _ frame: Int64?, _ areEqual: Bool,
    _ index: inout PacketIndex
  ) {
    let each = Int64(format.framesPerPacket)
    let most = each > 0 ? each : 0x8000
    guard Double(missingFrames + lost) <= 3600 * format.sampleRate, lost / most < 1 << 16 else {
      return
    }
    missingFrames += lost
    damagedFrame = damagedFrame ?? frame ?? index.frames(each: format.framesPerPacket)
    for first in stride(from: 0, to: lost, by: Int(most)) {
      index.append(
        [PacketIndex.Piece(offset: offset, bytes: 0)],
        frames: areEqual ? 0 : min(most, lost - first))
    }
  }

  var hasFreeFormat: Bool { if case .frames(let finder) = sieve { finder.isFree } else { false } }

  // MARK: Between packets

  /// The end of the part of the file that holds the sound.
  private var limit: Int64 {
    if case .frames(let finder) = sieve { finder.part.upperBound } else { byteCount }
  }

  /// Ends the sound where a file of another kind begins behind it.
  private func endsSound(at end: Int64) throws(SoundFileError) -> Bool {
    let place = try ID3Tag.endOfTags(in: store, from: end)
    let count = Int(max(0, min(28, limit - place)))
    guard let start = try store.bytes(at: place, count: count), count >= 8 else { return false }
    var isOther = LibavType(start: start) != nil
    switch (Container(start: start), sieve) {
    case (nil, _), (.flac, .flac), (_, .none), (_, .times): break
    case (.adts, _), (.ac3, _), (.mp1, _), (.mp2, _), (.mp3, _):
      for kind in FrameKind.allCases where start.count >= kind.headBytes {
        if case .frames(let finder) = sieve, finder.kind == kind { continue }
        guard let head = kind.head(start, at: 0) else { continue }
        let finder = FrameFinder(kind, store, in: place..<limit)
        if try finder.isProven(head, at: place, by: 3) { isOther = true }
      }
    default: isOther = true
    }
    guard isOther else { return false }
    otherSoundOffset = place
    isAtEnd = true
    return true
  }

  /// Counts the bytes between two packets, unless they are tags.
  private func passOver(
    to offset: Int64, _ index: PacketIndex, at frame: Int64? = nil
  ) throws(SoundFileError) {
    guard let goodEnd, offset > goodEnd else { return }
    let start = try store.bytes(at: goodEnd, count: Int(min(8, offset - goodEnd))) ?? []
    if ID3Tag.isTag(start) { return }
    damagedBytes += offset - goodEnd
    damagedFrame = damagedFrame ?? frame ?? index.frames(each: format.framesPerPacket)
  }

  /// Describes the damage; nil if there is none.
  var damage: String? {
    if let otherSoundOffset, damagedFrame == nil {
      return "it is read up to byte \(otherSoundOffset): sound of another kind follows"
    }
    guard let damagedFrame else { return nil }
    let words = [
      damagedBytes > 0 ? "\(damagedBytes) bytes are no sound" : nil,
      missingFrames > 0 ? "\(missingFrames) frames are missing" : nil,
    ]
    return "the file is damaged at \(time(damagedFrame)): "
      + words.compactMap { $0 }.joined(separator: ", ")
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
