import CFFmpeg
import RealTime

/// A converter between the sample layout of a libavcodec frame and planes of floats.
struct FrameSamples {
  /// Data pointers of a frame: one for each plane, or one for all channels.
  typealias Data = UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>

  /// Layout of one channel in planar formats, else of all channels.
  private let layout: SampleLayout
  private let isPlanar: Bool
  private let isFloat: Bool
  /// Bytes of one frame in a plane.
  private let bytesPerFrame: Int
  private let channels: Int

  /// Creates the layout; nil if no supported codec uses this sample format.
  ///
  /// - Parameter bits: Significant bits of integers, if fewer than the format has; else 0.
  init?(_ format: AVSampleFormat, channels: Int, bits: Int = 0) {
    guard let kind = Self.kind(of: format) else { return nil }
    let bytes = Int(ffmpeg.av_get_bytes_per_sample(format))
    isPlanar = ffmpeg.av_sample_fmt_is_planar(format) == 1
    isFloat = kind == .float
    bytesPerFrame = isPlanar ? bytes : bytes * channels
    self.channels = channels
    let stored = PCMFormat(
      sampleRate: 1, channels: isPlanar ? 1 : channels, kind: kind,
      bitsPerSample: bits > 0 && kind != .float ? min(bits, 8 * bytes) : 8 * bytes,
      bytesPerSample: bytes, isHighAligned: true)
    guard let layout = stored.layout else { return nil }
    self.layout = layout
  }

  /// Returns the kind of number that a sample format has; nil if no supported codec uses it.
  static func kind(of format: AVSampleFormat) -> PCMFormat.Kind? {
    switch ffmpeg.av_get_packed_sample_fmt(format) {
    case AV_SAMPLE_FMT_U8: .unsignedInteger
    case AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_S32: .signedInteger
    case AV_SAMPLE_FMT_FLT, AV_SAMPLE_FMT_DBL: .float
    default: nil
    }
  }

  /// Copies the first frames of a libavcodec frame to planes.
  func copy(_ data: Data, frames: Int, to planes: Planes.Pointers) {
    for channel in 0..<(isPlanar ? channels : 1) {
      guard let source = unsafe data[channel] else { continue }
      unsafe layout.copy(
        source, planeFrames: 0, frames: frames, gain: ChannelGain(1), to: planes + channel, at: 0)
    }
  }

  /// Writes frames to a libavcodec frame, starting at frame `position`. Integers are rounded to the
  /// nearest; floats that encoders cannot process are limited.
  func store(_ planes: Planes.Pointers, at first: Int, frames: Int, to data: Data, at position: Int)
  {
    for channel in 0..<(isPlanar ? channels : 1) {
      guard let plane = unsafe data[channel] else { continue }
      let memory = unsafe UnsafeMutableRawPointer(plane) + position * bytesPerFrame
      unsafe layout.store(
        from: planes + channel, at: first, frames: frames, to: memory, planeFrames: 0)
      if isFloat { unsafe Self.tame(memory, isPlanar ? frames : frames * channels) }
    }
  }

  /// Limits floats: encoders reject, or crash on, NaN and extremely large samples.
  private static func tame(_ memory: UnsafeMutableRawPointer, _ count: Int) {
    let loudest: Float = 64
    let floats = unsafe memory.assumingMemoryBound(to: Float.self)
    for i in 0..<count {
      let sample = unsafe floats[i]
      if sample.magnitude <= loudest { continue }
      unsafe floats[i] = sample.isNaN ? 0 : sample > 0 ? loudest : -loudest
    }
  }
}
