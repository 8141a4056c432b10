import AudioToolbox
import Foundation

extension Sounds {
  /// Returns a float format with one of several sample rates.
  private func clientFormat(
    _ format: AudioStreamBasicDescription, _ dice: inout Dice
  ) -> AudioStreamBasicDescription {
    let channels = dice.once(in: 3) ? UInt32(dice.roll(3) + 1) : format.mChannelsPerFrame
    let rate = [format.mSampleRate, format.mSampleRate, 48000, 8000][dice.roll(4)]
    return AudioStreamBasicDescription(
      mSampleRate: rate, mFormatID: kAudioFormatLinearPCM,
      mFormatFlags: kAudioFormatFlagsNativeFloatPacked, mBytesPerPacket: 4 &* channels,
      mFramesPerPacket: 1, mBytesPerFrame: 4 &* channels, mChannelsPerFrame: channels,
      mBitsPerChannel: 32, mReserved: 0)
  }

  /// Calls `body` with a list of one float buffer.
  private func withBuffer(
    frames: Int, _ format: AudioStreamBasicDescription,
    _ body: (UnsafeMutablePointer<AudioBufferList>) -> OSStatus
  ) -> OSStatus {
    var memory = [UInt8](
      repeating: 0, count: frames * Int(min(format.mBytesPerFrame, 4096)))
    return memory.withUnsafeMutableBytes { memory in
      var list = AudioBufferList(
        mNumberBuffers: 1,
        mBuffers: AudioBuffer(
          mNumberChannels: format.mChannelsPerFrame, mDataByteSize: UInt32(memory.count),
          mData: memory.baseAddress))
      return body(&list)
    }
  }

  // MARK: ExtAudioFile

  func readConverted(_ url: CFURL, _ dice: inout Dice) {
    var opened: ExtAudioFileRef?
    let status = ExtAudioFileOpenURL(url, &opened)
    note("ExtAudioFileOpenURL: \(status)")
    guard let file = opened else { return }
    defer { ExtAudioFileDispose(file) }
    var format = AudioStreamBasicDescription()
    var size = UInt32(MemoryLayout.size(ofValue: format))
    guard
      ExtAudioFileGetProperty(file, kExtAudioFileProperty_FileDataFormat, &size, &format) == noErr
    else { return }
    for id in Self.conversionProperties {
      var size: UInt32 = 0
      guard ExtAudioFileGetPropertyInfo(file, id, &size, nil) == noErr, size < 1 << 24 else {
        continue
      }
      var memory = [UInt8](repeating: 0, count: Int(size) + 8)
      _ = ExtAudioFileGetProperty(file, id, &size, &memory)
    }
    var client = clientFormat(format, &dice)
    let set = ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, size, &client)
    note("the client's format: \(set)")
    guard set == noErr else { return }
    for _ in 0..<20 {
      let frames = dice.roll(4096) + 1
      var count = UInt32(frames)
      let status = withBuffer(frames: frames, client) { ExtAudioFileRead(file, &count, $0) }
      note("ExtAudioFileRead: \(status), \(count) frames")
      var position: Int64 = 0
      _ = ExtAudioFileTell(file, &position)
      if count == 0 || status != noErr || dice.once(in: 6) {
        let target = dice.once(in: 8) ? Int64(bitPattern: dice.next()) : Int64(dice.roll(12000))
        _ = ExtAudioFileSeek(file, target)
      }
    }
  }

  private static let conversionProperties: [UInt32] = ["fclo", "cclo", "cmpx", "fmpx", "#frm"].map {
    $0.utf8.reduce(0) { $0 << 8 | UInt32($1) }
  }

  // MARK: AudioConverter

  /// The input of a converter: a file whose packets are damaged again.
  private final class Source {
    let file: AudioFileID
    var packet: Int64 = 0
    var dice: Dice
    var memory = [UInt8](repeating: 0, count: 1 << 16)
    var descriptions = [AudioStreamPacketDescription](
      repeating: AudioStreamPacketDescription(), count: 8)
    /// The packet data that the converter reads, valid until its next request.
    let data = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    let altered = UnsafeMutableBufferPointer<AudioStreamPacketDescription>.allocate(capacity: 8)

    init(_ file: AudioFileID, _ dice: Dice) {
      self.file = file
      self.dice = dice
    }

    deinit {
      data.deallocate()
      altered.deallocate()
    }

    func read(
      _ count: UnsafeMutablePointer<UInt32>, _ list: UnsafeMutablePointer<AudioBufferList>,
      _ out: UnsafeMutablePointer<UnsafeMutablePointer<AudioStreamPacketDescription>?>?
    ) -> OSStatus {
      var packets = min(count.pointee, 8)
      var bytes = UInt32(memory.count)
      let status = AudioFileReadPacketData(
        file, false, &bytes, &descriptions, packet, &packets, &memory)
      packet += Int64(packets)
      for _ in 0..<dice.roll(4) where bytes > 0 {
        memory[dice.roll(Int(bytes))] = UInt8(dice.roll(256))
      }
      if dice.once(in: 10), bytes > 0 { bytes = UInt32(dice.roll(Int(bytes))) }
      if dice.once(in: 10) {
        descriptions[dice.roll(8)].mDataByteSize = UInt32(truncatingIfNeeded: dice.next())
      }
      if dice.once(in: 10) {
        descriptions[dice.roll(8)].mStartOffset = Int64(
          bitPattern: dice.next() << UInt64(dice.roll(60)))
      }
      data.copyBytes(from: memory)
      _ = altered.update(from: descriptions)
      list.pointee.mBuffers.mData = data.baseAddress
      list.pointee.mBuffers.mDataByteSize = bytes
      out?.pointee = altered.baseAddress
      count.pointee = packets
      return dice.once(in: 50) ? -1 : status
    }
  }

  func convert(_ file: AudioFileID, _ format: AudioStreamBasicDescription, _ dice: inout Dice) {
    var source = format
    var client = clientFormat(format, &dice)
    var made: AudioConverterRef?
    let status = AudioConverterNew(&source, &client, &made)
    note("AudioConverterNew: \(status)")
    guard let converter = made else { return }
    defer { AudioConverterDispose(converter) }
    var size: UInt32 = 0
    let cookieID = kAudioFilePropertyMagicCookieData
    if AudioFileGetPropertyInfo(file, cookieID, &size, nil) == noErr, size < 1 << 20 {
      var cookie = [UInt8](repeating: 0, count: Int(size))
      if AudioFileGetProperty(file, cookieID, &size, &cookie) == noErr, !cookie.isEmpty {
        if dice.once(in: 2) { cookie[dice.roll(cookie.count)] = UInt8(dice.roll(256)) }
        if dice.once(in: 8) { cookie.removeLast(dice.roll(cookie.count)) }
        let status = AudioConverterSetProperty(
          converter, kAudioConverterDecompressionMagicCookie, UInt32(cookie.count), cookie)
        note("the cookie: \(status)")
      }
    }
    let packets = Source(file, dice)
    for _ in 0..<20 {
      let frames = dice.roll(4096) + 1
      var count = UInt32(frames)
      let status = withBuffer(frames: frames, client) { list in
        AudioConverterFillComplexBuffer(
          converter,
          { _, count, list, descriptions, data in
            Unmanaged<Source>.fromOpaque(data!).takeUnretainedValue().read(
              count, list, descriptions)
          }, Unmanaged.passUnretained(packets).toOpaque(), &count, list, nil)
      }
      note("AudioConverterFillComplexBuffer: \(status), \(count) frames")
      if count == 0 { break }
      if dice.once(in: 10) { AudioConverterReset(converter) }
    }
    withExtendedLifetime(packets) {}
  }
}
