package import Codecs
import RealTime

/// A parser of sound files that arrive in pieces of any size.
///
/// One thread at a time. The closures passed to `parse` may seek, or release the parser, but must
/// not call `parse`.
package final class StreamParser {
  /// The properties of the stream.
  package struct Details: Sendable {
    package var container: Container
    package var format: StreamFormat
    package var cookie: [UInt8] = []
    package var packetTable: PacketTable?
    package var tags: [String: String] = [:]
    package var channelRoles: [ChannelRole]?
    /// Bytes from the start of the stream to its sound.
    package var dataOffset: Int64
    /// Bytes of sound; nil if unknown.
    package var dataBytes: Int64?
    /// Packets of sound; nil if unknown.
    package var packetCount: Int64?
    /// Bytes of the largest packet; nil if unknown.
    package var maximumPacketBytes: Int?
    /// Upper limit of a packet's size in bytes.
    package var packetBytesLimit: Int
    /// Bits per second; nil if unknown.
    package var bitRate: Int?
  }

  /// How the parser finds packets.
  enum Framing {
    /// All packets have this size.
    case equal(bytes: Int)
    /// A packet table gives the positions.
    case listed(PacketIndex)
    case frames(FrameScanner)
    case flac(FLACScanner)
    case fragments(StreamFragments)
  }

  /// Nil until the header is complete.
  package private(set) var details: Details?
  private let hint: Container?
  private(set) var framing = Framing.equal(bytes: 1)
  private var failure: StreamFailure?

  /// Received bytes that are still needed; the first lies at `position` of the stream.
  private var bytes: [UInt8] = []
  private var position: Int64 = 0
  /// Bytes of a tag, or of a part without sound, still to skip.
  private var skipped: Int64 = 0
  /// Bytes of tags before the container. The offsets in its tables do not count them.
  private(set) var start: Int64 = 0
  /// Bytes that must be available before the header is parsed again.
  private var neededBytes = 12
  /// For streams without a header: the possible scanners, and the offset where each continues.
  private var candidates: [(scanner: FrameScanner, offset: Int)] = []
  /// Number of tags, and the bytes of those that are kept.
  private var tagCount = 0
  private var tag: [UInt8] = []
  private var isTagKept = true

  /// The next packet in the packet table.
  private var nextPacket: Int64 = 0
  /// Where the sound ends; nil if unknown. Bytes after it are skipped.
  private var end: Int64?
  private var isOver = false
  /// Counts seeks, to detect one made from within a closure.
  private var seeks = 0
  /// Bytes in which no frames were found before the latest discontinuity.
  private var searchedBefore = 0
  /// True if no bytes have come since the latest seek.
  private var isAtSeek = false
  /// Packets delivered, and their bytes.
  private(set) var seenPackets: Int64 = 0
  private(set) var seenBytes: Int64 = 0
  private var isBusy = false

  /// Bytes processed at a time, so that buffered data does not grow with the pieces.
  private static var sliceBytes: Int { 65536 }
  /// Bytes within which the first frames of a stream without a header must be found.
  private static var searchedBytes: Int { 65536 }

  /// - Parameter hint: The container to assume if the stream does not tell.
  package init(hint: Container?) { self.hint = hint }

  /// Parses the next bytes.
  ///
  /// - Parameters:
  ///   - isDiscontinuous: True if the bytes do not follow those of the last call.
  ///   - ready: Called once, when `details` are known.
  ///   - packets: Called with consecutive packets. The extents are nil if all packets have one
  ///     size.
  package func parse(
    _ piece: UnsafeRawBufferPointer, isDiscontinuous: Bool, ready: () -> Void,
    packets: (UnsafeRawBufferPointer, _ count: Int, [PacketExtent]?) -> Void
  ) throws(StreamFailure) {
    if let failure { throw failure }
    guard !isBusy else { throw .busy }
    isBusy = true
    defer { isBusy = false }
    if isDiscontinuous { try jump() }
    if piece.count > 0 { isAtSeek = false }
    var rest = unsafe piece[...]
    while unsafe !rest.isEmpty {
      let slice = unsafe rest.prefix(Self.sliceBytes)
      unsafe rest = rest.dropFirst(slice.count)
      if isOver { return }
      unsafe bytes.append(contentsOf: slice)
      passOverTag()
      let count = seeks
      do throws(StreamFailure) {
        if details == nil {
          try readHead()
          guard details != nil else { continue }
          ready()
        }
        if seeks == count { try unsafe deliver(packets) }
        // After a seek from within a closure, the rest of the piece is outdated.
        if seeks != count { return }
      } catch {
        failure = error
        bytes = []
        throw error
      }
    }
  }

  /// Prepares for bytes that do not follow the last ones.
  private func jump() throws(StreamFailure) {
    guard !isAtSeek else { return }
    guard details != nil else {
      // A header with a gap cannot be parsed, but frames can begin anywhere.
      let isHeadless = bytes.isEmpty || !candidates.isEmpty
      guard isHeadless else { throw .lostSync }
      searchedBefore += bytes.count
      bytes = []
      skipped = 0
      for index in candidates.indices { candidates[index].offset = 0 }
      return
    }
    switch framing {
    // A fragment's packets are known by its position only.
    case .listed, .fragments: throw .lostSync
    case .equal, .frames, .flac: loseStep()
    }
    // The new position is unknown, so the end is unknown too.
    end = nil
    isOver = false
  }

  private func loseStep() {
    bytes = []
    switch framing {
    case .frames(var scanner):
      scanner.loseStep()
      framing = .frames(scanner)
    case .flac(var scanner):
      scanner.loseStep()
      framing = .flac(scanner)
    case .equal, .listed, .fragments: break
    }
  }

  /// Continues the stream at a packet. Returns the position in the sound from which bytes must
  /// come; nil if there is no such packet, or its position is unknown.
  package func seek(toPacket packet: Int64) -> Location? {
    guard let details, let location = location(ofPacket: packet) else { return nil }
    let (start, isTooFar) = details.dataOffset.addingReportingOverflow(location.position)
    guard !isTooFar else { return nil }
    loseStep()
    position = start
    nextPacket = packet
    end = promisedEnd
    isOver = false
    isAtSeek = true
    seeks += 1
    return location
  }

  // MARK: The header

  private func passOverTag() {
    let count = Int(min(skipped, Int64(bytes.count)))
    guard count > 0 else { return }
    if isTagKept { tag += bytes[..<count] }
    drop(count)
    skipped -= Int64(count)
  }

  private func drop(_ count: Int) {
    bytes.removeFirst(count)
    position += Int64(count)
  }

  private func readHead() throws(StreamFailure) {
    guard skipped == 0 else { return }
    guard candidates.isEmpty else { return try findFrames() }
    guard bytes.count >= neededBytes else { return }
    switch StreamStart(bytes) {
    case .needs(let count): neededBytes = count
    case .failed(let failure): throw failure
    case .tag(let count):
      tagCount += 1
      guard tagCount <= ID3Tag.mostInARow else { throw .unsupportedContainer }
      // Tags are kept, except long ones, which must contain pictures.
      isTagKept = count <= StreamStart.maximumBytes - tag.count
      if !isTagKept { tag = [] }
      skipped = Int64(count)
      passOverTag()
      neededBytes = 12
      try readHead()
    case .frames:
      let kinds: [FrameKind] =
        switch hint {
        case .adts: [.adts]
        case .mp1, .mp2, .mp3: [.mpeg]
        case .ac3: [.ac3]
        default: FrameKind.allCases
        }
      candidates = kinds.map { (FrameScanner($0, proof: 2), 0) }
      try findFrames()
    case .found(let container, let dataOffset, let dataBytes):
      // The first packet may give properties that the tables leave out.
      let lookAhead = container == .mp4 ? Int(min(dataBytes ?? 0, 2048)) : 0
      let needed = dataOffset + lookAhead
      guard bytes.count >= needed else {
        neededBytes = needed
        return
      }
      var opening = try Opening(
        container.passesOverTags ? tag : [], Array(bytes[..<needed]), container,
        dataOffset: dataOffset, dataBytes: dataBytes)
      opening.details.dataOffset += position
      start = position
      begin(opening)
      tag = []
    }
  }

  private func begin(_ opening: Opening) {
    details = opening.details
    framing = opening.framing
    if case .fragments(let fragments) = framing { return drop(fragments.headBytes) }
    drop(Int(opening.details.dataOffset - position))
    end = promisedEnd
  }

  /// Where the head says that the sound ends; nil if something else tells.
  private var promisedEnd: Int64? {
    switch framing {
    // The tables of MPEG-4 files are more exact. Behind the frames of an MPEG stream others may follow.
    case .listed, .frames: nil
    default: details.flatMap { details in details.dataBytes.map { details.dataOffset + $0 } }
    }
  }

  /// Searches for frames in a stream without a header.
  private func findFrames() throws(StreamFailure) {
    for index in candidates.indices {
      switch candidates[index].scanner.step(bytes, from: candidates[index].offset) {
      case .more(let offset): candidates[index].offset = offset
      case .frame(let head, let offset):
        let scanner = candidates[index].scanner
        begin(try Opening(tag, bytes, at: position, head, offset, scanner))
        (candidates, tag) = ([], [])
        return
      }
    }
    if searchedBefore == 0, FreeFormat(bytes) != nil {
      throw .unsupportedEncoding(FreeFormat.name)
    }
    guard searchedBefore + bytes.count < Self.searchedBytes else { throw .unsupportedContainer }
  }

  // MARK: Packets

  /// Consecutive packets that are ready for delivery.
  private struct Batch {
    var data: [UInt8] = []
    var extents: [PacketExtent] = []

    mutating func add(_ packet: ArraySlice<UInt8>, frames: Int = 0) {
      extents.append(PacketExtent(offset: data.count, bytes: packet.count, frames: frames))
      data += packet
    }
  }

  private func deliver(
    _ packets: (UnsafeRawBufferPointer, Int, [PacketExtent]?) -> Void
  ) throws(StreamFailure) {
    if let end, position + Int64(bytes.count) >= end {
      isOver = true
      bytes.removeLast(bytes.count - Int(max(0, end - position)))
    }
    var batch = Batch()
    var count: Int
    var taken: Int
    switch framing {
    case .equal(let size):
      count = bytes.count / size
      taken = count * size
      batch.data = Array(bytes[..<taken])
    case .listed(let list):
      taken = try take(list, &batch)
      count = batch.extents.count
    case .frames(var scanner):
      (scanner, taken) = take(scanner, &batch)
      framing = .frames(scanner)
      count = batch.extents.count
    case .flac(var scanner):
      (scanner, taken) = take(scanner, &batch)
      framing = .flac(scanner)
      count = batch.extents.count
    case .fragments(var fragments):
      taken = try take(&fragments, &batch)
      framing = .fragments(fragments)
      count = batch.extents.count
    }
    drop(taken)
    guard count > 0 else { return }
    seenPackets += Int64(count)
    seenBytes += Int64(batch.data.count)
    let extents = batch.extents.isEmpty ? nil : batch.extents
    unsafe batch.data.withUnsafeBytes { data in unsafe packets(data, count, extents) }
  }

  private func take(_ list: PacketIndex, _ batch: inout Batch) throws(StreamFailure) -> Int {
    var taken = 0
    while nextPacket < list.count, let piece = list.pieces(of: nextPacket).first {
      let start = piece.offset + start - position
      guard start >= taken else { throw .damaged("packet \(nextPacket) lies before the last one") }
      guard start <= bytes.count, piece.bytes <= bytes.count - Int(start) else {
        return min(Int(clamping: start), bytes.count)
      }
      taken = Int(start) + piece.bytes
      batch.add(bytes[Int(start)..<taken], frames: list.frames(of: nextPacket))
      nextPacket += 1
    }
    isOver = true
    return bytes.count
  }

  private func take(
    _ fragments: inout StreamFragments, _ batch: inout Batch
  ) throws(StreamFailure) -> Int {
    var taken = 0
    while true {
      switch try fragments.step(bytes, at: taken, position: position - start) {
      case .more: return taken
      case .other(let count):
        let present = min(count, bytes.count - taken)
        taken += present
        skipped = Int64(count - present)
        isTagKept = false
        if skipped > 0 { return taken }
      case .fragment(let list, let count):
        for packet in 0..<list.count {
          for piece in list.pieces(of: packet) {
            let first = Int(clamping: piece.offset - (position - start))
            // A damaged table may name other places.
            guard first >= taken, first + piece.bytes <= taken + count else { continue }
            batch.add(bytes[first..<first + piece.bytes], frames: list.frames(of: packet))
          }
        }
        taken += count
      }
    }
  }

  private func take(_ scanner: FrameScanner, _ batch: inout Batch) -> (FrameScanner, Int) {
    var scanner = scanner
    var offset = 0
    while true {
      switch scanner.step(bytes, from: offset) {
      case .more(let needed): return (scanner, needed)
      case .frame(let head, let start):
        offset = start + head.bytes
        batch.add(bytes[start + (scanner.hasChanged ? 0 : head.headBytes)..<offset])
      }
    }
  }

  private func take(_ scanner: FLACScanner, _ batch: inout Batch) -> (FLACScanner, Int) {
    var scanner = scanner
    var offset = 0
    let isRegular = framesPerPacket != nil
    while true {
      switch scanner.step(bytes, from: offset) {
      case .more(let needed): return (scanner, needed)
      case .frame(let head, let size, let start):
        offset = start + size
        batch.add(bytes[start..<offset], frames: isRegular ? 0 : head.frames)
      case .stream(_, let isOther, let start):
        offset = start + FLACStreamInfo.bytes
        if isOther { batch.add(bytes[start..<offset]) }
      }
    }
  }
}
