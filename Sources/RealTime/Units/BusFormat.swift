package import CRealTime

/// Format of the samples that a bus of an audio unit exchanges: linear PCM in buffers of the C API.
package struct BusFormat: BitwiseCopyable, Equatable, Sendable {
  /// Samples of all channels. `channels` is their number, interleaved or not.
  package let pcm: PCMFormat
  package let isInterleaved: Bool
  /// Bits behind the binary point of a fixed-point sample; 0 if full scale is 1.
  package let fractionBits: Int
  /// Layout of one buffer: of all channels, or of one.
  private let layout: SampleLayout
  /// The value of the largest sample.
  private let fullScale: Float
  /// True if the samples of a buffer are those of a plane.
  package let isPlanes: Bool

  /// - Returns: Nil if the process thread cannot convert the format.
  package init?(_ pcm: PCMFormat, isInterleaved: Bool, fractionBits: Int = 0) {
    var buffer = pcm
    if !isInterleaved { buffer.channels = 1 }
    guard pcm.layout != nil, let layout = buffer.layout else { return nil }
    if fractionBits > 0 {
      guard pcm.kind == .signedInteger, fractionBits < pcm.bitsPerSample else { return nil }
      fullScale = Float(1 << (pcm.bitsPerSample - 1 - fractionBits))
    } else {
      fullScale = 1
    }
    self.pcm = pcm
    self.isInterleaved = isInterleaved
    self.fractionBits = fractionBits
    self.layout = layout
    isPlanes = layout == .float32(channels: 1)
  }

  /// The format in which units compute: 32-bit floats in a buffer for each channel.
  package static func planar(channels: Int, sampleRate: Double) -> BusFormat? {
    BusFormat(
      PCMFormat(sampleRate: sampleRate, channels: channels, kind: .float, bitsPerSample: 32),
      isInterleaved: false)
  }

  package var sampleRate: Double { @_noLocks get { pcm.sampleRate } }
  package var channels: Int { @_noLocks get { pcm.channels } }
  /// Buffers of a list, and bytes of a frame in one of them.
  package var buffers: Int { @_noLocks get { isInterleaved ? 1 : pcm.channels } }
  package var bytesPerFrame: Int {
    @_noLocks get { isInterleaved ? pcm.bytesPerFrame : pcm.bytesPerSample }
  }

  /// Reads frames of a list into planes, one for each channel. Frames that the list does not have are
  /// silent.
  @_noLocks func read(
    _ list: UnsafeMutablePointer<cue_buffer_list>, frames: Int,
    to planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  ) {
    let given = unsafe cue_rt_buffers(list)
    let width = isInterleaved ? pcm.channels : 1
    for i in 0..<buffers {
      let target = unsafe planes + i &* width
      var count = 0
      if unsafe i < Int(list.pointee.count), let data = unsafe given[i].data {
        count = unsafe min(frames, Int(given[i].bytes) / bytesPerFrame)
        // A source may have written into the plane itself.
        if unsafe !isPlanes || data != UnsafeMutableRawPointer(target[0]) {
          unsafe layout.copy(
            UnsafeRawPointer(data), planeFrames: 0, frames: count, gain: ChannelGain(fullScale),
            to: target, at: 0)
        }
      }
      for channel in 0..<width {
        unsafe (target[channel] + count).initialize(repeating: 0, count: frames &- count)
      }
    }
  }

  /// Writes frames of planes to a list whose buffers have the memory for them.
  @_noLocks package func write(
    _ planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, frames: Int,
    to list: UnsafeMutablePointer<cue_buffer_list>
  ) {
    let given = unsafe cue_rt_buffers(list)
    let width = isInterleaved ? pcm.channels : 1
    let bytes = frames &* bytesPerFrame
    for i in 0..<buffers {
      guard let data = unsafe given[i].data else { continue }
      let source = unsafe planes + i &* width
      if fullScale != 1 {
        // A power of two: exact.
        for channel in 0..<width {
          for frame in 0..<frames { unsafe source[channel][frame] /= fullScale }
        }
      }
      unsafe layout.store(
        from: source, at: 0, frames: frames, to: data, planeFrames: 0)
      if fullScale != 1 {
        for channel in 0..<width {
          for frame in 0..<frames { unsafe source[channel][frame] *= fullScale }
        }
      }
      unsafe given[i].bytes = UInt32(bytes)
    }
  }
}
