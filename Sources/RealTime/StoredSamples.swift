/// A container that a sample is written to: the way back of `Sample`.
private protocol StoredSample {
  /// Bytes from one sample to the next. Where this is a constant, the compiler vectorises.
  static func bytes(_ layout: SampleLayout) -> Int
  static func store(_ value: Float, to memory: UnsafeMutableRawPointer, _ layout: SampleLayout)
}

/// The value nearest to `value` times `scale` that a signed integer of that full scale can hold; of
/// two that are as near the even one. NaN is 0.
@inline(__always)
private func integer(_ value: Float, fullScale scale: Double) -> Int32 {
  let real = value == value ? Double(value) * scale : 0
  let clipped = min(max(real, -scale), scale - 1)
  // Added to this, a number has its integer part in the low bits: the sum is rounded as wished,
  // where every other way would be a call for each sample.
  return Int32(truncatingIfNeeded: (clipped + 0x1.8p52).bitPattern)
}

/// The same for 16 bits, in half the room.
@inline(__always)
private func integer16(_ value: Float) -> Int16 {
  let real = value == value ? value * 0x1p15 : 0
  let clipped = min(max(real, -0x1p15), 0x1p15 - 1)
  return Int16(truncatingIfNeeded: (clipped + 0x1.8p23).bitPattern)
}

private enum StoredInt16: StoredSample {
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 2 }
  @inline(__always)
  static func store(_ value: Float, to memory: UnsafeMutableRawPointer, _ layout: SampleLayout) {
    unsafe memory.storeBytes(of: integer16(value), as: Int16.self)
  }
}
private enum StoredSwappedInt16: StoredSample {
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 2 }
  @inline(__always)
  static func store(_ value: Float, to memory: UnsafeMutableRawPointer, _ layout: SampleLayout) {
    unsafe memory.storeBytes(of: integer16(value).byteSwapped, as: Int16.self)
  }
}
private enum StoredInt24: StoredSample {
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 3 }
  @inline(__always)
  static func store(_ value: Float, to memory: UnsafeMutableRawPointer, _ layout: SampleLayout) {
    let whole = integer(value, fullScale: 0x1p23)
    unsafe memory.storeBytes(of: UInt16(truncatingIfNeeded: whole), as: UInt16.self)
    unsafe memory.storeBytes(
      of: UInt8(truncatingIfNeeded: whole &>> 16), toByteOffset: 2, as: UInt8.self)
  }
}
private enum StoredSwappedInt24: StoredSample {
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 3 }
  @inline(__always)
  static func store(_ value: Float, to memory: UnsafeMutableRawPointer, _ layout: SampleLayout) {
    let whole = integer(value, fullScale: 0x1p23)
    unsafe memory.storeBytes(of: UInt8(truncatingIfNeeded: whole &>> 16), as: UInt8.self)
    unsafe memory.storeBytes(
      of: UInt16(truncatingIfNeeded: whole).byteSwapped, toByteOffset: 1, as: UInt16.self)
  }
}
private enum StoredInt32: StoredSample {
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 4 }
  @inline(__always)
  static func store(_ value: Float, to memory: UnsafeMutableRawPointer, _ layout: SampleLayout) {
    unsafe memory.storeBytes(of: integer(value, fullScale: 0x1p31), as: Int32.self)
  }
}
private enum StoredSwappedInt32: StoredSample {
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 4 }
  @inline(__always)
  static func store(_ value: Float, to memory: UnsafeMutableRawPointer, _ layout: SampleLayout) {
    unsafe memory.storeBytes(of: integer(value, fullScale: 0x1p31).byteSwapped, as: Int32.self)
  }
}
private enum StoredFloat32: StoredSample {
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 4 }
  @inline(__always)
  static func store(_ value: Float, to memory: UnsafeMutableRawPointer, _ layout: SampleLayout) {
    unsafe memory.storeBytes(of: value, as: Float.self)
  }
}
private enum StoredSwappedFloat32: StoredSample {
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 4 }
  @inline(__always)
  static func store(_ value: Float, to memory: UnsafeMutableRawPointer, _ layout: SampleLayout) {
    unsafe memory.storeBytes(of: value.bitPattern.byteSwapped, as: UInt32.self)
  }
}
private enum StoredFloat64: StoredSample {
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 8 }
  @inline(__always)
  static func store(_ value: Float, to memory: UnsafeMutableRawPointer, _ layout: SampleLayout) {
    unsafe memory.storeBytes(of: Double(value), as: Double.self)
  }
}
private enum StoredSwappedFloat64: StoredSample {
  @inline(__always) static func bytes(_ layout: SampleLayout) -> Int { 8 }
  @inline(__always)
  static func store(_ value: Float, to memory: UnsafeMutableRawPointer, _ layout: SampleLayout) {
    unsafe memory.storeBytes(of: Double(value).bitPattern.byteSwapped, as: UInt64.self)
  }
}
/// Any integer: unsigned, or narrower than its container. A signed one in the low bits fills those
/// above it with its sign; all other bits that it does not use are 0.
private enum StoredAnyInteger: StoredSample {
  @inline(__always)
  static func bytes(_ layout: SampleLayout) -> Int { Int(layout.bytesPerSample) }
  @inline(__always)
  static func store(_ value: Float, to memory: UnsafeMutableRawPointer, _ layout: SampleLayout) {
    let scale = Double(bitPattern: (1022 &+ UInt64(layout.bits)) &<< 52)
    let top = integer(value, fullScale: scale) &<< Int32(32 &- layout.bits)
    let shift = UInt32(layout.shift)
    let raw =
      layout.isUnsigned
      ? (UInt32(bitPattern: top) ^ 0x8000_0000) &>> shift
      : UInt32(bitPattern: top &>> Int32(shift))
    let last = Int(layout.bytesPerSample) &- 1
    var i = 0
    while i <= last {
      let byte = UInt8(truncatingIfNeeded: raw &>> UInt32(8 &* (layout.isSwapped ? last &- i : i)))
      unsafe memory.storeBytes(of: byte, toByteOffset: i, as: UInt8.self)
      i &+= 1
    }
  }
}

extension SampleLayout {
  /// Writes `frames` frames of the planes to memory: the exact way back of `copy`.
  ///
  /// An integer is the nearest to its sample (of two that are as near the even one), clipped at full
  /// scale; NaN is 0. Floats are written as they are. What `copy` reads with a gain of 1 is written
  /// with the same bits again: every integer of up to 24 bits and every 32-bit float; of wider
  /// integers and floats those that a 32-bit float holds, while for others the nearest of those is
  /// written. (Denormal numbers may come out as 0 in a cycle, which flushes them.)
  ///
  /// - Parameters:
  ///   - planes: A pointer for each channel.
  ///   - offset: The frame of each plane to read first.
  ///   - memory: Where the first byte of the first frame goes; of the first channel's plane if
  ///     `planeFrames` is not 0. Need not be aligned.
  ///   - planeFrames: 0 to interleave the frames, else the distance of the planes in frames.
  @_noLocks package func store(
    from planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, at offset: Int, frames: Int,
    to memory: UnsafeMutableRawPointer, planeFrames: Int
  ) {
    guard isPlain else {
      return unsafe store(StoredAnyInteger.self, planes, offset, frames, memory, planeFrames)
    }
    switch container {
    case .int8:
      unsafe store(StoredAnyInteger.self, planes, offset, frames, memory, planeFrames)
    case .int16 where isSwapped:
      unsafe store(StoredSwappedInt16.self, planes, offset, frames, memory, planeFrames)
    case .int16:
      unsafe store(StoredInt16.self, planes, offset, frames, memory, planeFrames)
    case .int24 where isSwapped:
      unsafe store(StoredSwappedInt24.self, planes, offset, frames, memory, planeFrames)
    case .int24:
      unsafe store(StoredInt24.self, planes, offset, frames, memory, planeFrames)
    case .int32 where isSwapped:
      unsafe store(StoredSwappedInt32.self, planes, offset, frames, memory, planeFrames)
    case .int32:
      unsafe store(StoredInt32.self, planes, offset, frames, memory, planeFrames)
    case .float32 where isSwapped:
      unsafe store(StoredSwappedFloat32.self, planes, offset, frames, memory, planeFrames)
    case .float32:
      unsafe store(StoredFloat32.self, planes, offset, frames, memory, planeFrames)
    case .float64 where isSwapped:
      unsafe store(StoredSwappedFloat64.self, planes, offset, frames, memory, planeFrames)
    case .float64:
      unsafe store(StoredFloat64.self, planes, offset, frames, memory, planeFrames)
    }
  }

  @inline(__always)
  private func store<S: StoredSample>(
    _ sample: S.Type, _ planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, _ offset: Int,
    _ frames: Int, _ memory: UnsafeMutableRawPointer, _ planeFrames: Int
  ) {
    let width = S.bytes(self)
    let channels = Int(channels)
    if channels == 2 && planeFrames == 0 {
      // One pass for both.
      let left = unsafe planes[0] + offset
      let right = unsafe planes[1] + offset
      for i in 0..<frames {
        let at = unsafe memory + i &* (2 &* width)
        unsafe S.store(left[i], to: at, self)
        unsafe S.store(right[i], to: at + width, self)
      }
    } else if channels == 1 || planeFrames != 0 {
      for channel in 0..<channels {
        let plane = unsafe planes[channel] + offset
        let out = unsafe memory + channel &* planeFrames &* width
        for i in 0..<frames { unsafe S.store(plane[i], to: out + i &* width, self) }
      }
    } else {
      for channel in 0..<channels {
        let plane = unsafe planes[channel] + offset
        let out = unsafe memory + channel &* width
        for i in 0..<frames {
          unsafe S.store(plane[i], to: out + i &* (width &* channels), self)
        }
      }
    }
  }
}
