/// A sample type that can be written to memory: the inverse of `Sample`.
private protocol StoredSample {
  /// Bytes from one sample to the next. Where this is a constant, the compiler vectorises.
  static func bytes(_ layout: SampleLayout) -> Int
  static func store(_ value: Float, to memory: UnsafeMutableRawPointer, _ layout: SampleLayout)
}

/// Returns the signed integer nearest to `value` times `scale`, clipped at full scale. Ties round
/// to even; NaN is 0.
@inline(__always)
private func integer(_ value: Float, fullScale scale: Double) -> Int32 {
  let real = value == value ? Double(value) * scale : 0
  let clipped = min(max(real, -scale), scale - 1)
  // The sum has the rounded integer in its low bits. Every other way of rounding would be a call
  // for each sample.
  return Int32(truncatingIfNeeded: (clipped + 0x1.8p52).bitPattern)
}

/// Returns the same for 16 bits, computed in 32-bit floats.
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
/// Integers of every other layout: 8 bits, unsigned, or narrower than their container. A signed
/// integer in the low bits is sign-extended; all other unused bits are 0.
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
  /// Converts `frames` frames of the planes and writes them to memory: the exact inverse of `copy`.
  ///
  /// An integer is the one nearest to its sample, clipped at full scale; ties round to even, and
  /// NaN is 0. Floats are written unchanged.
  ///
  /// A sample that `copy` reads with a gain of 1 is written with the same bits if a 32-bit float
  /// holds it. That is every integer of up to 24 bits and every 32-bit float. For wider integers
  /// and floats, the nearest 32-bit float is written. Denormals may become 0 in a cycle, which
  /// flushes them.
  ///
  /// - Parameters:
  ///   - planes: A pointer for each channel.
  ///   - offset: The frame of each plane to read first.
  ///   - memory: Destination of the first byte of the first frame; of the first channel's plane if
  ///     `planeFrames` is not 0. Need not be aligned.
  ///   - planeFrames: 0 to interleave the frames, else the distance between the planes in frames.
  @_noLocks package func store(
    from planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, at offset: Int, frames: Int,
    to memory: UnsafeMutableRawPointer, planeFrames: Int
  ) {
    if unsafe storeWide(planes, offset, frames, memory, planeFrames) { return }
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

  /// Writes `frames` frames of silence in the layout that `store` uses.
  @_noLocks package func storeSilence(
    frames: Int, to memory: UnsafeMutableRawPointer, planeFrames: Int
  ) {
    let width = Int(bytesPerSample)
    let planes = planeFrames == 0 ? 1 : Int(channels)
    let samples = planeFrames == 0 ? frames &* Int(channels) : frames
    for plane in 0..<planes {
      let first = unsafe memory + plane &* planeFrames &* width
      if isUnsigned {
        for i in 0..<samples { unsafe StoredAnyInteger.store(0, to: first + i &* width, self) }
      } else {
        unsafe first.initializeMemory(as: UInt8.self, repeating: 0, count: samples &* width)
      }
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
      // One pass for both channels.
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
