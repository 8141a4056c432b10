package import RealTime

/// Linear PCM in memory that the caller owns: one buffer with interleaved channels, or one buffer
/// per channel.
@safe
package struct SampleBuffers {
  package let format: PCMFormat
  /// Start of each buffer: one, or one per channel.
  private let pointers: [UnsafeMutableRawPointer]
  private let buffers: Int
  /// Layout of one of the buffers.
  private let layout: SampleLayout
  private let channelsPerBuffer: Int
  /// Value of the largest sample: a power of two; 1 unless the samples are fixed point.
  private let fullScale: Double

  /// Creates the buffers; nil if their number does not fit, or the format is not supported.
  ///
  /// - Parameters:
  ///   - format: Format of the stream. The number of buffers tells whether it is interleaved.
  ///   - fractionBits: Bits behind the binary point of signed integers; 0 if full scale is 1.
  ///   - pointers: Memory that outlives this value. It need not be aligned.
  package init?(
    _ format: PCMFormat, fractionBits: Int = 0, at pointers: [UnsafeMutableRawPointer]
  ) {
    buffers = unsafe pointers.count
    guard format.layout != nil, buffers == 1 || buffers == format.channels else { return nil }
    var one = format
    one.channels = format.channels / buffers
    guard let layout = one.layout else { return nil }
    guard fractionBits == 0 || format.takesFractionBits(fractionBits) else { return nil }
    fullScale =
      fractionBits == 0
      ? 1 : Double(sign: .plus, exponent: format.bitsPerSample - 1 - fractionBits, significand: 1)
    self.format = format
    unsafe self.pointers = pointers
    self.layout = layout
    channelsPerBuffer = one.channels
  }

  /// Bytes from one frame to the next, in each buffer.
  package var bytesPerFrame: Int { format.bytesPerSample * channelsPerBuffer }

  /// Copies frames to planes of floats.
  func read(from frame: Int, frames: Int, into planes: Planes.Pointers) {
    for index in 0..<buffers {
      unsafe layout.copy(
        pointers[index] + frame * bytesPerFrame, planeFrames: 0, frames: frames,
        gain: ChannelGain(Float(fullScale)), to: planes + index * channelsPerBuffer, at: 0)
    }
  }

  /// Converts frames of planes into the buffers.
  func write(_ planes: Planes.Pointers, frames: Int, at frame: Int) {
    if fullScale != 1 {
      unsafe withUnsafeTemporaryAllocation(of: Double.self, capacity: frames) { numbers in
        guard let start = numbers.baseAddress else { return }
        for channel in 0..<format.channels {
          for i in 0..<frames { unsafe numbers[i] = Double(planes[channel][i]) }
          unsafe write(channel: channel, start, frames: frames, at: frame)
        }
      }
      return
    }
    for index in 0..<buffers {
      unsafe layout.store(
        from: planes + index * channelsPerBuffer, at: 0, frames: frames,
        to: pointers[index] + frame * bytesPerFrame, planeFrames: 0)
    }
  }

  // MARK: One channel in full precision

  /// True if a 32-bit float cannot hold every sample exactly.
  var isWide: Bool { format.isWide }

  /// Copies one channel's frames as 64-bit floats, which hold every sample exactly. Full scale is
  /// 1, or what fixed point holds.
  func read(channel: Int, from frame: Int, frames: Int, into numbers: UnsafeMutablePointer<Double>)
  {
    let source = unsafe pointer(channel, frame)
    let step = bytesPerFrame
    switch (format.kind, format.bytesPerSample) {
    case (.float, 8):
      for i in 0..<frames {
        let bits = unsafe word(UInt64.self, source + i * step)
        unsafe numbers[i] = Double(bitPattern: bits)
      }
    case (.float, _):
      for i in 0..<frames {
        let bits = unsafe word(UInt32.self, source + i * step)
        unsafe numbers[i] = Double(Float(bitPattern: bits))
      }
    default:
      let bits = format.bitsPerSample
      let width = format.bytesPerSample
      // Shifts the most significant bit to the top, and masks unused bits.
      let shift = UInt32(32 - (format.isHighAligned ? 8 * width : bits))
      let mask = ~UInt32(0) << UInt32(32 - bits)
      let flip: UInt32 = format.kind == .unsignedInteger ? 0x8000_0000 : 0
      for i in 0..<frames {
        var raw: UInt32 = 0
        for byte in 0..<width {
          let at = format.isBigEndian ? width - 1 - byte : byte
          raw |=
            unsafe UInt32((source + i * step).load(fromByteOffset: at, as: UInt8.self))
            << UInt32(8 * byte)
        }
        let whole = Int32(bitPattern: ((raw << shift) & mask) ^ flip)
        unsafe numbers[i] = Double(whole) * 0x1p-31 * fullScale
      }
    }
  }

  /// Writes one channel's frames. Integers are rounded to the nearest (ties to even) and clipped at
  /// full scale; NaN becomes 0.
  func write(
    channel: Int, _ numbers: UnsafePointer<Double>, frames: Int, at frame: Int
  ) {
    let out = unsafe pointer(channel, frame)
    let step = bytesPerFrame
    switch (format.kind, format.bytesPerSample) {
    case (.float, 8):
      for i in 0..<frames { unsafe put(numbers[i].bitPattern, out + i * step) }
    case (.float, _):
      for i in 0..<frames { unsafe put(Float(numbers[i]).bitPattern, out + i * step) }
    default:
      let bits = format.bitsPerSample
      let width = format.bytesPerSample
      let limit = Double(sign: .plus, exponent: bits - 1, significand: 1)
      let scale = limit / fullScale
      let top = UInt32(32 - bits)
      let shift = UInt32(32 - (format.isHighAligned ? 8 * width : bits))
      let isUnsigned = format.kind == .unsignedInteger
      for i in 0..<frames {
        let value = unsafe numbers[i]
        let real = value.isNaN ? 0 : value * scale
        let whole = Int32(min(max(real.rounded(.toNearestOrEven), -limit), limit - 1)) << top
        // Unused high bits of a signed integer repeat its sign.
        let raw =
          isUnsigned
          ? (UInt32(bitPattern: whole) ^ 0x8000_0000) >> shift
          : UInt32(bitPattern: whole >> Int32(shift))
        for byte in 0..<width {
          let at = format.isBigEndian ? width - 1 - byte : byte
          unsafe (out + i * step).storeBytes(
            of: UInt8(truncatingIfNeeded: raw >> UInt32(8 * byte)), toByteOffset: at,
            as: UInt8.self)
        }
      }
    }
  }

  private func pointer(_ channel: Int, _ frame: Int) -> UnsafeMutableRawPointer {
    let (buffer, inside) = channel.quotientAndRemainder(dividingBy: channelsPerBuffer)
    return unsafe pointers[buffer] + frame * bytesPerFrame + inside * format.bytesPerSample
  }

  private func word<Word: FixedWidthInteger & BitwiseCopyable>(
    _ type: Word.Type, _ source: UnsafeMutableRawPointer
  ) -> Word {
    let word = unsafe source.loadUnaligned(as: type)
    return format.isBigEndian ? word.byteSwapped : word
  }

  private func put<Word: FixedWidthInteger & BitwiseCopyable>(
    _ word: Word, _ out: UnsafeMutableRawPointer
  ) {
    unsafe out.storeBytes(of: format.isBigEndian ? word.byteSwapped : word, as: Word.self)
  }
}

extension PCMFormat {
  /// True if samples of the format can be fixed point with this number of bits behind the point.
  package func takesFractionBits(_ bits: Int) -> Bool {
    kind == .signedInteger && (0..<bitsPerSample).contains(bits)
  }

  /// True if a 32-bit float cannot hold every sample exactly.
  var isWide: Bool { kind == .float ? bytesPerSample == 8 : bitsPerSample > 24 }
}
