import CRealTime

/// Layouts that `cue_samples.h` converts with wide vectors: native integers of 16 and 24 bits, and
/// interleaved floats.
extension SampleLayout {
  /// Does the work of `copy` for layouts that have a wide conversion. Process thread.
  ///
  /// - Returns: False if this layout has none. Nothing is written then.
  @_noLocks func copyWide(
    _ source: UnsafeRawPointer, _ planeFrames: Int, _ frames: Int, _ gain: ChannelGain,
    _ planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, _ offset: Int
  ) -> Bool {
    guard isPlain, !isSwapped else { return false }
    let isStereo = channels == 2 && planeFrames == 0
    let isContiguous = channels == 1 || planeFrames != 0
    switch container {
    case .int16 where isStereo:
      unsafe cue_rt_read_int16_stereo(
        source, frames, planes[0] + offset, planes[1] + offset, 0x1p-15 * gain.others,
        0x1p-15 * gain.second)
    case .int16 where isContiguous:
      for channel in 0..<Int(channels) {
        unsafe cue_rt_read_int16(
          source + channel &* planeFrames &* 2, frames, planes[channel] + offset,
          0x1p-15 * (channel == 1 ? gain.second : gain.others))
      }
    case .int16 where channels >= 8:
      let (factor, second) = (0x1p-15 * gain.others, 0x1p-15 * gain.second)
      forGroups(of: 8) { channel in
        unsafe cue_rt_read_int16_eight(
          source + 2 &* channel, 2 &* Int(channels), frames, planes + channel, offset, factor,
          channel == 0 ? second : factor)
      }
    case .int24 where isStereo:
      unsafe cue_rt_read_int24_stereo(
        source, frames, planes[0] + offset, planes[1] + offset, 0x1p-23 * gain.others,
        0x1p-23 * gain.second)
    case .int24 where isContiguous:
      for channel in 0..<Int(channels) {
        unsafe cue_rt_read_int24(
          source + channel &* planeFrames &* 3, frames, planes[channel] + offset,
          0x1p-23 * (channel == 1 ? gain.second : gain.others))
      }
    case .float32 where isStereo:
      unsafe cue_rt_read_float_stereo(
        source, frames, planes[0] + offset, planes[1] + offset, gain.others, gain.second)
    case .float32 where channels >= 4 && planeFrames == 0:
      forGroups(of: 4) { channel in
        unsafe cue_rt_read_float_four(
          source + 4 &* channel, 4 &* Int(channels), frames, planes + channel, offset,
          gain.others, channel == 0 ? gain.second : gain.others)
      }
    default: return false
    }
    return true
  }

  /// Calls `body` with the first channel of each group of `size` channels. Unless the number of channels is a
  /// multiple of `size`, the last ones are a group that comes first, and some of them come once more.
  @inline(__always) @_noLocks private func forGroups(of size: Int, _ body: (Int) -> Void) {
    let count = Int(channels)
    var channel = count % size == 0 ? 0 : count &- size
    repeat {
      body(channel)
      channel = channel % size == 0 ? channel &+ size : 0
    } while channel &+ size <= count
  }

  /// Does the work of `store` for layouts that have a wide conversion. Process thread.
  ///
  /// - Returns: False if this layout has none. Nothing is written then.
  @_noLocks func storeWide(
    _ planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, _ offset: Int, _ frames: Int,
    _ memory: UnsafeMutableRawPointer, _ planeFrames: Int
  ) -> Bool {
    guard isPlain, !isSwapped else { return false }
    let isStereo = channels == 2 && planeFrames == 0
    let isContiguous = channels == 1 || planeFrames != 0
    let sources = unsafe UnsafeRawPointer(planes).assumingMemoryBound(
      to: UnsafePointer<Float>.self)
    switch container {
    case .int16 where isStereo:
      unsafe cue_rt_store_int16_stereo(memory, frames, planes[0] + offset, planes[1] + offset)
    case .int16 where isContiguous:
      for channel in 0..<Int(channels) {
        unsafe cue_rt_store_int16(
          memory + channel &* planeFrames &* 2, frames, planes[channel] + offset)
      }
    case .int16 where channels >= 8:
      forGroups(of: 8) { channel in
        unsafe cue_rt_store_int16_eight(
          memory + 2 &* channel, 2 &* Int(channels), frames, sources + channel, offset)
      }
    case .int24 where isStereo:
      unsafe cue_rt_store_int24_stereo(memory, frames, planes[0] + offset, planes[1] + offset)
    case .int24 where isContiguous:
      for channel in 0..<Int(channels) {
        unsafe cue_rt_store_int24(
          memory + channel &* planeFrames &* 3, frames, planes[channel] + offset)
      }
    case .float32 where isStereo:
      unsafe cue_rt_store_float_stereo(memory, frames, planes[0] + offset, planes[1] + offset)
    case .float32 where channels >= 4 && planeFrames == 0:
      forGroups(of: 4) { channel in
        unsafe cue_rt_store_float_four(
          memory + 4 &* channel, 4 &* Int(channels), frames, sources + channel, offset)
      }
    default: return false
    }
    return true
  }
}
