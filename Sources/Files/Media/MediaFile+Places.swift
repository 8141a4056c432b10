import Codecs
import RealTime
import Synchronization

extension MediaFile {
  /// Frames and bytes before each packet, followed by the totals.
  struct Places: Sendable {
    var frames: [Int64] = [0]
    var bytes: [Int64] = [0]
  }

  private func allPlaces(_ file: PacketFileReader) throws(SoundFileError) -> Places {
    if let places = places.withLock({ $0 }) { return places }
    let count = try file.packetCount
    var all = Places()
    for packet in 0..<count {
      let frames = try file.packetFrames(of: packet) ?? 0
      let bytes = try file.packetBytes(of: packet) ?? 0
      all.frames.append((all.frames.last ?? 0) + Int64(frames))
      all.bytes.append((all.bytes.last ?? 0) + Int64(bytes))
    }
    places.withLock { $0 = all }
    return all
  }

  /// Reads packet bytes as if all packets were stored contiguously, starting at position 0. Returns
  /// the number of bytes read.
  func readPacketBytes(
    at position: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    guard position >= 0, position < (try byteCount), buffer.count > 0 else { return 0 }
    var (packet, skipped) = try packet(atByte: position)
    var done = 0
    let most = try maximumPacketBytes
    var memory = [UInt8](repeating: 0, count: max(most, 1 << 16))
    while done < buffer.count {
      var extents: [PacketExtent] = []
      let result = unsafe memory.withUnsafeMutableBytes { memory in
        Result { () throws(SoundFileError) in
          try unsafe readPackets(
            from: packet, count: memory.count, into: memory, extents: &extents)
        }
      }
      let count = try result.get()
      guard count > 0, let last = extents.last else { break }
      let bytes = min(last.offset + last.bytes - skipped, buffer.count - done)
      for index in 0..<max(0, bytes) { unsafe buffer[done + index] = memory[skipped + index] }
      done += max(0, bytes)
      packet += Int64(count)
      skipped = 0
    }
    return done
  }

  /// Returns the first frame of a packet. Frames include priming.
  package func frame(ofPacket packet: Int64) throws(SoundFileError) -> Int64 {
    guard let file = try varying(\.framesPerPacket) else {
      return packet.multipliedReportingOverflow(by: framesPerPacket).partialValue
    }
    let frames = try allPlaces(file).frames
    return frames[Int(clamping: min(max(0, packet), Int64(frames.count - 1)))]
  }

  /// Returns the packet that contains a frame, and the number of the packet's frames before it.
  package func packet(atFrame frame: Int64) throws(SoundFileError) -> (packet: Int64, offset: Int) {
    guard let file = try varying(\.framesPerPacket) else {
      return (frame / framesPerPacket, Int(frame % framesPerPacket))
    }
    return Self.find(frame, in: try allPlaces(file).frames)
  }

  /// Returns the offset of a packet's first byte in the sound.
  package func byte(ofPacket packet: Int64) throws(SoundFileError) -> Int64 {
    guard let file = try varying(\.bytesPerPacket) else {
      return packet.multipliedReportingOverflow(by: bytesPerPacket).partialValue
    }
    let bytes = try allPlaces(file).bytes
    return bytes[Int(clamping: min(max(0, packet), Int64(bytes.count - 1)))]
  }

  /// Returns the packet that contains a byte of the sound, and the number of the packet's bytes
  /// before it.
  package func packet(atByte byte: Int64) throws(SoundFileError) -> (packet: Int64, offset: Int) {
    guard let file = try varying(\.bytesPerPacket) else {
      return (byte / bytesPerPacket, Int(byte % bytesPerPacket))
    }
    return Self.find(byte, in: try allPlaces(file).bytes)
  }

  private var framesPerPacket: Int64 {
    if case .packets(let format) = format { Int64(max(1, format.framesPerPacket)) } else { 1 }
  }

  private var bytesPerPacket: Int64 {
    switch format {
    case .pcm(let format): Int64(format.bytesPerFrame)
    case .packets(let format): Int64(max(1, format.bytesPerPacket))
    }
  }

  /// Returns the file's reader if the given packet size varies; nil if it is constant.
  private func varying(_ size: KeyPath<PacketFormat, Int>) throws(SoundFileError)
    -> PacketFileReader?
  {
    switch body {
    case .pcm: return nil
    case .reader(let file): return file.format[keyPath: size] == 0 ? file : nil
    case .writer(let file):
      guard file.format[keyPath: size] == 0 else { return nil }
      throw packetsAreWritten
    }
  }

  private static func find(_ place: Int64, in starts: [Int64]) -> (packet: Int64, offset: Int) {
    var low = 0
    var high = starts.count - 1
    while high - low > 1 {
      let middle = (low + high) / 2
      if starts[middle] <= place { low = middle } else { high = middle }
    }
    if let end = starts.last, place >= end { low = starts.count - 1 }
    return (Int64(low), Int(clamping: max(0, place - starts[low])))
  }
}
