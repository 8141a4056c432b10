import Codecs
import Files
import RealTime
import Server

/// A sound file that is being written: linear PCM as it is, or packets that an encoder makes. One thread
/// at a time; every call may block on the disk.
final class SoundWriter: @unchecked Sendable {
  let container: Container
  /// The format of the file's sound.
  let format: StreamFormat
  /// What `write` takes: the file's own samples, or floats for the encoder.
  let input: PCMFormat
  let file: MediaFile
  private let encoder: FrameEncoder?
  /// Bytes or packets that were written.
  private var position: Int64 = 0
  /// Frames that the written packets decode to.
  private var packetFrames: Int64 = 0
  private var silence: [UInt8] = []
  /// Host time, in nanoseconds.
  private var nextCheckpoint: UInt64 = 0

  /// Begins a file.
  init(
    _ store: FileStore, container: Container, format: StreamFormat,
    options: PacketEncoder.Options = PacketEncoder.Options()
  ) throws(SoundFileError) {
    self.container = container
    switch format {
    case .pcm(let pcm):
      self.format = format
      input = pcm
      encoder = nil
    case .packets(let packets):
      let encoder = try FrameEncoder(packets, options, path: store.name)
      self.format = .packets(encoder.format)
      input = PCMFormat(
        sampleRate: packets.sampleRate, channels: packets.channels, kind: .float, bitsPerSample: 32)
      self.encoder = encoder
    }
    file = try MediaFile.create(store, container: container, format: self.format)
    if let encoder { try file.setCookie(encoder.cookie) }
  }

  /// Appends whole frames of `input`.
  func write(_ bytes: UnsafeRawBufferPointer) throws(SoundFileError) {
    if let encoder {
      try unsafe encoder.encode(bytes)
      try writePackets(of: encoder)
    } else {
      try unsafe file.writeBytes(at: position, from: bytes)
      position += Int64(bytes.count)
    }
  }

  /// Appends frames of silence.
  func writeSilence(frames: Int64) throws(SoundFileError) {
    let framesAtOnce = 4096
    if silence.isEmpty {
      let value: UInt8 = input.kind == .unsignedInteger ? 0x80 : 0
      silence = [UInt8](repeating: value, count: framesAtOnce * input.bytesPerFrame)
    }
    var left = frames
    while left > 0 {
      let count = Int(min(left, Int64(framesAtOnce)))
      let result = unsafe silence.withUnsafeBytes { bytes in
        Result { () throws(SoundFileError) in
          try unsafe write(.init(rebasing: bytes[..<(count * input.bytesPerFrame)]))
        }
      }
      try result.get()
      left -= Int64(count)
    }
  }

  private func writePackets(of encoder: FrameEncoder) throws(SoundFileError) {
    let (bytes, extents) = encoder.takePackets()
    guard !extents.isEmpty else { return }
    let isConstant = encoder.format.bytesPerPacket > 0
    let result = unsafe bytes.withUnsafeBytes { bytes in
      Result { () throws(SoundFileError) in
        // Packets that are all alike come several together.
        if isConstant {
          try unsafe file.writeBytes(at: position, from: bytes)
        } else {
          try unsafe file.writePackets(at: position, from: bytes, extents: extents)
        }
      }
    }
    try result.get()
    position += Int64(isConstant ? bytes.count : extents.count)
    packetFrames += extents.reduce(0) { $0 + Int64($1.frames) }
  }

  /// Has the file be complete as it stands now and then, so that a kill takes less than the last second.
  /// To be called some times in a second.
  func checkpoint() throws(SoundFileError) {
    // Of linear PCM it is but a few bytes each time.
    guard encoder != nil else { return try file.checkpoint() }
    let now = HostTime.now
    guard now >= nextCheckpoint else { return }
    try file.checkpoint()
    nextCheckpoint = now + 700_000_000
  }

  /// Frames that the file has: all that were written, unless it could not take them any more.
  var frames: Int64 {
    guard let encoder else { return file.packetCount }
    return min(
      encoder.packetTable.validFrames, packetFrames - Int64(encoder.packetTable.primingFrames))
  }

  /// Completes the file.
  func close() throws(SoundFileError) {
    if let encoder {
      try encoder.finish()
      try writePackets(of: encoder)
      // Some know all of it only now.
      try file.setCookie(encoder.cookie)
      try file.setPacketTable(encoder.packetTable)
    }
    try file.close()
  }
}

/// An encoder of interleaved floats. One thread at a time.
private final class FrameEncoder {
  private let encoder: PacketEncoder
  private let planes: Planes
  private let layout: SampleLayout
  private let path: String
  private var frames: Int64 = 0
  private static var framesAtOnce: Int { 4096 }

  /// - Parameter path: The file that the packets are for.
  init(_ format: PacketFormat, _ options: PacketEncoder.Options, path: String)
    throws(SoundFileError)
  {
    do throws(CodecError) {
      encoder = try PacketEncoder(format, options)
    } catch {
      throw SoundFileError(.cannotWrite(error.reason), path: path)
    }
    planes = Planes(channels: format.channels, capacity: Self.framesAtOnce)
    layout = .float32(channels: format.channels)
    self.path = path
  }

  var format: PacketFormat { encoder.format }
  var cookie: [UInt8] { encoder.cookie }

  /// Which frames of what the packets decode to are those that went in. After `finish`.
  var packetTable: PacketTable {
    PacketTable(
      validFrames: frames, primingFrames: encoder.primingFrames,
      remainderFrames: encoder.remainderFrames)
  }

  /// Takes whole frames in.
  func encode(_ bytes: UnsafeRawBufferPointer) throws(SoundFileError) {
    let bytesPerFrame = 4 * planes.channels
    let count = bytes.count / bytesPerFrame
    var first = 0
    while first < count, let start = bytes.baseAddress {
      let part = min(Self.framesAtOnce, count - first)
      unsafe layout.copy(
        start + first * bytesPerFrame, planeFrames: 0, frames: part, gain: ChannelGain(1),
        to: planes.pointers(), at: 0)
      try naming { () throws(CodecError) in
        try unsafe encoder.encode(planes.pointers(), frames: part)
      }
      first += part
    }
    frames += Int64(count)
  }

  /// Completes the last packet.
  func finish() throws(SoundFileError) {
    try naming { () throws(CodecError) in try encoder.finish() }
  }

  /// The packets that are ready, and where they lie in the bytes.
  func takePackets() -> (bytes: [UInt8], extents: [PacketExtent]) {
    var bytes: [UInt8] = []
    var extents: [PacketExtent] = []
    while let packet = encoder.takePacket() {
      extents.append(
        PacketExtent(offset: bytes.count, bytes: packet.bytes.count, frames: packet.frames))
      bytes += packet.bytes
    }
    return (bytes, extents)
  }

  private func naming(_ body: () throws(CodecError) -> Void) throws(SoundFileError) {
    do throws(CodecError) {
      try body()
    } catch {
      throw SoundFileError(.cannotWrite(error.reason), path: path)
    }
  }
}
