public import CAudioToolbox

extension Float: LinearPCMSample {}
extension Double: LinearPCMSample {}
extension Int8: LinearPCMSample {}
extension Int16: LinearPCMSample {}
extension Int32: LinearPCMSample {}

extension AudioStreamBasicDescription {
  /// Returns interleaved linear PCM in this machine's byte order.
  ///
  /// ```swift
  /// let queue = try PlaybackQueue(.pcm(Int16.self, sampleRate: 44100, channels: 2))
  /// ```
  public static func pcm<Sample: LinearPCMSample>(
    _ sample: Sample.Type = Float.self, sampleRate: Double = 48000, channels: Int = 2
  ) -> AudioStreamBasicDescription {
    let bytes = UInt32(MemoryLayout<Sample>.size)
    let channels = UInt32(clamping: channels)
    return AudioStreamBasicDescription(
      mSampleRate: sampleRate, mFormatID: kAudioFormatLinearPCM,
      mFormatFlags: Sample.linearPCMFlags, mBytesPerPacket: bytes &* channels, mFramesPerPacket: 1,
      mBytesPerFrame: bytes &* channels, mChannelsPerFrame: channels, mBitsPerChannel: 8 * bytes,
      mReserved: 0)
  }

  /// Returns true if samples of this format have the same memory layout as an array of `Sample`.
  func holds<Sample: LinearPCMSample>(_ sample: Sample.Type) -> Bool {
    let size = UInt32(MemoryLayout<Sample>.size)
    // The byte order of a single byte does not matter.
    let told = size == 1 ? mFormatFlags & ~kAudioFormatFlagIsBigEndian : mFormatFlags
    return mBytesPerFrame == size &* mChannelsPerFrame && told == Sample.linearPCMFlags
      && mBitsPerChannel == 8 * size
  }
}
