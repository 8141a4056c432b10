/// A sample type that can be read from memory: container, sign and byte order.
private protocol Sample {
  /// Factor that scales the value of `load` so that full scale is 1. It is a power of two, so
  /// multiplying the gain by it first loses no precision.
  static var scale: Float { get }
  /// Bytes from one sample to the next. Where this is a constant, the compiler vectorises.
  static func bytes(_ layout: SampleLayout) -> Int
  static func load(_ source: UnsafeRawPointer, _ layout: SampleLayout) -> Float
}

private enum Int16Sample: Sample {
  @inline(__always) static var scale: Float { 0x1p-31 }
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 2 }
  @inline(__always)
  static func load(_ source: UnsafeRawPointer, _ layout: SampleLayout) -> Float {
    Float(unsafe Int32(source.loadUnaligned(as: Int16.self)) &<< 16)
  }
}
private enum SwappedInt16Sample: Sample {
  @inline(__always) static var scale: Float { 0x1p-31 }
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 2 }
  @inline(__always)
  static func load(_ source: UnsafeRawPointer, _ layout: SampleLayout) -> Float {
    Float(unsafe Int32(source.loadUnaligned(as: Int16.self).byteSwapped) &<< 16)
  }
}
private enum Int24Sample: Sample {
  @inline(__always) static var scale: Float { 0x1p-23 }
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 3 }
  @inline(__always)
  static func load(_ source: UnsafeRawPointer, _ layout: SampleLayout) -> Float {
    let low = unsafe Int32(source.loadUnaligned(as: UInt16.self))
    let high = unsafe Int32(source.loadUnaligned(fromByteOffset: 2, as: Int8.self))
    return Float(high &<< 16 | low)
  }
}
private enum SwappedInt24Sample: Sample {
  @inline(__always) static var scale: Float { 0x1p-23 }
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 3 }
  @inline(__always)
  static func load(_ source: UnsafeRawPointer, _ layout: SampleLayout) -> Float {
    let high = unsafe Int32(source.loadUnaligned(as: Int8.self))
    let low = unsafe Int32(source.loadUnaligned(fromByteOffset: 1, as: UInt16.self).byteSwapped)
    return Float(high &<< 16 | low)
  }
}
/// 24-bit integers, each loaded as 32 bits. Faster than `Int24Sample`, but reads one byte beyond
/// each sample.
private enum RoomyInt24Sample: Sample {
  @inline(__always) static var scale: Float { 0x1p-31 }
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 3 }
  @inline(__always)
  static func load(_ source: UnsafeRawPointer, _ layout: SampleLayout) -> Float {
    Float(unsafe source.loadUnaligned(as: Int32.self) &<< 8)
  }
}
/// The same for the other byte order.
private enum RoomySwappedInt24Sample: Sample {
  @inline(__always) static var scale: Float { 0x1p-31 }
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 3 }
  @inline(__always)
  static func load(_ source: UnsafeRawPointer, _ layout: SampleLayout) -> Float {
    Float(unsafe source.loadUnaligned(as: Int32.self).byteSwapped & ~0xff)
  }
}
private enum Int32Sample: Sample {
  @inline(__always) static var scale: Float { 0x1p-31 }
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 4 }
  @inline(__always)
  static func load(_ source: UnsafeRawPointer, _ layout: SampleLayout) -> Float {
    Float(unsafe source.loadUnaligned(as: Int32.self))
  }
}
private enum SwappedInt32Sample: Sample {
  @inline(__always) static var scale: Float { 0x1p-31 }
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 4 }
  @inline(__always)
  static func load(_ source: UnsafeRawPointer, _ layout: SampleLayout) -> Float {
    Float(unsafe source.loadUnaligned(as: Int32.self).byteSwapped)
  }
}
private enum SwappedFloat32Sample: Sample {
  @inline(__always) static var scale: Float { 1 }
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 4 }
  @inline(__always)
  static func load(_ source: UnsafeRawPointer, _ layout: SampleLayout) -> Float {
    Float(bitPattern: unsafe source.loadUnaligned(as: UInt32.self).byteSwapped)
  }
}
private enum Float32Sample: Sample {
  @inline(__always) static var scale: Float { 1 }
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 4 }
  @inline(__always)
  static func load(_ source: UnsafeRawPointer, _ layout: SampleLayout) -> Float {
    unsafe source.loadUnaligned(as: Float.self)
  }
}
private enum Float64Sample: Sample {
  @inline(__always) static var scale: Float { 1 }
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 8 }
  @inline(__always)
  static func load(_ source: UnsafeRawPointer, _ layout: SampleLayout) -> Float {
    Float(unsafe source.loadUnaligned(as: Double.self))
  }
}
private enum SwappedFloat64Sample: Sample {
  @inline(__always) static var scale: Float { 1 }
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 8 }
  @inline(__always)
  static func load(_ source: UnsafeRawPointer, _ layout: SampleLayout) -> Float {
    Float(Double(bitPattern: unsafe source.loadUnaligned(as: UInt64.self).byteSwapped))
  }
}
/// Integers of every other layout: 8 bits, unsigned, or narrower than their container.
private enum AnyIntegerSample: Sample {
  @inline(__always) static var scale: Float { 0x1p-31 }
  @inline(__always)
  static func bytes(_ layout: SampleLayout) -> Int { Int(layout.bytesPerSample) }
  @inline(__always)
  static func load(_ source: UnsafeRawPointer, _ layout: SampleLayout) -> Float {
    var raw: UInt32 = 0
    let last = Int(layout.bytesPerSample) &- 1
    var i = 0
    while i <= last {
      let byte = unsafe UInt32(source.loadUnaligned(fromByteOffset: i, as: UInt8.self))
      raw |= byte &<< UInt32(8 &* (layout.isSwapped ? last &- i : i))
      i &+= 1
    }
    raw = (raw &<< UInt32(layout.shift)) & (~0 &<< UInt32(32 &- layout.bits))
    if layout.isUnsigned { raw ^= 0x8000_0000 }
    return Float(Int32(bitPattern: raw))
  }
}

extension SampleLayout {
  /// Converts `frames` frames to floats, multiplies them by `gain`, and writes them to one plane
  /// per channel.
  ///
  /// - Parameters:
  ///   - source: The first byte of the first frame; of the first channel's plane if `planeFrames`
  ///     is not 0.
  ///   - planeFrames: 0 if `source` is interleaved, else the distance between its planes in frames.
  ///   - planes: A pointer for each channel.
  ///   - offset: The frame of each plane to write first.
  @_noLocks package func copy(
    _ source: UnsafeRawPointer, planeFrames: Int, frames: Int, gain: ChannelGain,
    to planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, at offset: Int
  ) {
    if unsafe copyWide(source, planeFrames, frames, gain, planes, offset) { return }
    guard isPlain else {
      return unsafe copy(
        AnyIntegerSample.self, source, planeFrames, frames, gain, planes, offset)
    }
    switch container {
    case .int8:
      unsafe copy(AnyIntegerSample.self, source, planeFrames, frames, gain, planes, offset)
    case .int16 where isSwapped:
      unsafe copy(SwappedInt16Sample.self, source, planeFrames, frames, gain, planes, offset)
    case .int16:
      unsafe copy(Int16Sample.self, source, planeFrames, frames, gain, planes, offset)
    case .int24 where isSwapped:
      // The fast type reads one byte beyond each sample, which the last frame may not have.
      let most = max(0, frames &- 1)
      let step = planeFrames == 0 ? 3 &* Int(channels) : 3
      unsafe copy(
        RoomySwappedInt24Sample.self, source, planeFrames, most, gain, planes, offset)
      unsafe copy(
        SwappedInt24Sample.self, source + most &* step, planeFrames, frames &- most, gain, planes,
        offset &+ most)
    case .int24:
      // The fast type reads one byte beyond each sample, which the last frame may not have.
      let most = max(0, frames &- 1)
      let step = planeFrames == 0 ? 3 &* Int(channels) : 3
      unsafe copy(
        RoomyInt24Sample.self, source, planeFrames, most, gain, planes, offset)
      unsafe copy(
        Int24Sample.self, source + most &* step, planeFrames, frames &- most, gain, planes,
        offset &+ most)
    case .int32 where isSwapped:
      unsafe copy(SwappedInt32Sample.self, source, planeFrames, frames, gain, planes, offset)
    case .int32:
      unsafe copy(Int32Sample.self, source, planeFrames, frames, gain, planes, offset)
    case .float32 where isSwapped:
      unsafe copy(SwappedFloat32Sample.self, source, planeFrames, frames, gain, planes, offset)
    case .float32:
      unsafe copy(Float32Sample.self, source, planeFrames, frames, gain, planes, offset)
    case .float64 where isSwapped:
      unsafe copy(SwappedFloat64Sample.self, source, planeFrames, frames, gain, planes, offset)
    case .float64:
      unsafe copy(Float64Sample.self, source, planeFrames, frames, gain, planes, offset)
    }
  }

  @inline(__always)
  private func copy<S: Sample>(
    _ sample: S.Type, _ source: UnsafeRawPointer, _ planeFrames: Int, _ frames: Int,
    _ gain: ChannelGain, _ planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, _ offset: Int
  ) {
    let width = S.bytes(self)
    let channels = Int(channels)
    let factor = S.scale * gain.others
    let second = S.scale * gain.second
    if channels == 2 && planeFrames == 0 {
      // One pass for both channels.
      let left = unsafe planes[0] + offset
      let right = unsafe planes[1] + offset
      for i in 0..<frames {
        let at = unsafe source + i &* (2 &* width)
        unsafe left[i] = S.load(at, self) * factor
        unsafe right[i] = S.load(at + width, self) * second
      }
    } else if channels == 1 || planeFrames != 0 {
      for channel in 0..<channels {
        let out = unsafe planes[channel] + offset
        let plane = unsafe source + channel &* planeFrames &* width
        let factor = channel == 1 ? second : factor
        for i in 0..<frames { unsafe out[i] = S.load(plane + i &* width, self) * factor }
      }
    } else {
      for channel in 0..<channels {
        let out = unsafe planes[channel] + offset
        let first = unsafe source + channel &* width
        let factor = channel == 1 ? second : factor
        for i in 0..<frames {
          unsafe out[i] = S.load(first + i &* (width &* channels), self) * factor
        }
      }
    }
  }
}
