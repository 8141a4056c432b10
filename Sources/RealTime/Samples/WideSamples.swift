import CRealTime

/// Layouts that `cue_samples.h` converts with wide vectors: native integers of 16 and 24 bits, and
/// interleaved stereo floats.
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
      unsafe copyByEights(source, frames, gain, planes, offset)
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
    default: return false
    }
    return true
  }

  /// Copies interleaved 16-bit frames of eight channels and more. Unless the number of channels is a
  /// multiple of eight, the last eight are copied first, and some of them once more.
  @_noLocks private func copyByEights(
    _ source: UnsafeRawPointer, _ frames: Int, _ gain: ChannelGain,
    _ planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, _ offset: Int
  ) {
    let count = Int(channels)
    let factor = 0x1p-15 * gain.others
    var channel = count % 8 == 0 ? 0 : count &- 8
    repeat {
      unsafe cue_rt_read_int16_eight(
        source + 2 &* channel, 2 &* count, frames, planes + channel, offset, factor,
        channel == 0 ? 0x1p-15 * gain.second : factor)
      channel = channel % 8 == 0 ? channel &+ 8 : 0
    } while channel &+ 8 <= count
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
    switch container {
    case .int16 where isStereo:
      unsafe cue_rt_store_int16_stereo(memory, frames, planes[0] + offset, planes[1] + offset)
    case .int16 where isContiguous:
      for channel in 0..<Int(channels) {
        unsafe cue_rt_store_int16(
          memory + channel &* planeFrames &* 2, frames, planes[channel] + offset)
      }
    case .int16 where channels >= 8:
      unsafe storeByEights(planes, offset, frames, memory)
    case .int24 where isStereo:
      unsafe cue_rt_store_int24_stereo(memory, frames, planes[0] + offset, planes[1] + offset)
    case .int24 where isContiguous:
      for channel in 0..<Int(channels) {
        unsafe cue_rt_store_int24(
          memory + channel &* planeFrames &* 3, frames, planes[channel] + offset)
      }
    case .float32 where isStereo:
      unsafe cue_rt_store_float_stereo(memory, frames, planes[0] + offset, planes[1] + offset)
    default: return false
    }
    return true
  }

  /// Stores interleaved 16-bit frames of eight channels and more. Unless the number of channels is a
  /// multiple of eight, the last eight are stored first, and some of them once more.
  @_noLocks private func storeByEights(
    _ planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, _ offset: Int, _ frames: Int,
    _ memory: UnsafeMutableRawPointer
  ) {
    let count = Int(channels)
    let sources = unsafe UnsafeRawPointer(planes).assumingMemoryBound(
      to: UnsafePointer<Float>.self)
    var channel = count % 8 == 0 ? 0 : count &- 8
    repeat {
      unsafe cue_rt_store_int16_eight(
        memory + 2 &* channel, 2 &* count, frames, sources + channel, offset)
      channel = channel % 8 == 0 ? channel &+ 8 : 0
    } while channel &+ 8 <= count
  }
}
