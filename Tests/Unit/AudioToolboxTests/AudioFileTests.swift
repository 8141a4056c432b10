import FileSupport
import Foundation
import Testing

@testable import AudioToolbox

private func openFile(
  _ path: String, _ permissions: AudioFilePermissions = .readPermission
) -> (status: OSStatus, id: AudioFileID?) {
  let url = CFURLCreateFromFileSystemRepresentation(nil, path, path.utf8.count, false)
  var id: AudioFileID?
  let status = AudioFileOpenURL(url!, permissions, 0, &id)
  return (status, id)
}

private func property<Value: BitwiseCopyable>(
  _ id: AudioFileID, _ property: AudioFilePropertyID, _ value: Value
)
  -> Value?
{
  var value = value
  var size: UInt32 = 0
  var isWritable: UInt32 = 7
  guard AudioFileGetPropertyInfo(id, property, &size, &isWritable) == noErr else { return nil }
  expectTrue(size == MemoryLayout<Value>.size && isWritable == 0)
  guard AudioFileGetProperty(id, property, &size, &value) == noErr else { return nil }
  expectTrue(size == MemoryLayout<Value>.size)
  return value
}

/// Returns an invented handle.
private func handle(_ number: Int) -> AudioFileID { unsafeBitCast(number, to: AudioFileID.self) }
/// Returns NULL, which C programs can pass for a nonnull pointer.
private func null<Value>() -> UnsafeMutablePointer<Value> {
  unsafeBitCast(UnsafeMutablePointer<Value>?.none, to: UnsafeMutablePointer<Value>.self)
}

@Suite(.tags(.program)) struct AudioFileTests {
  let folder: TemporaryFolder
  let recipe = Recipe(.sox, "a.wav", .s24)
  let path: String
  init() throws {
    folder = try TemporaryFolder()
    path = try recipe.make(in: folder)
  }

  @Test func propertiesAreThoseOfTheFile() throws {
    let id = try require(openFile(path).id)
    defer { expectEqual(AudioFileClose(id), noErr) }
    let format = try require(
      property(id, kAudioFilePropertyDataFormat, AudioStreamBasicDescription()))
    expectTrue(format.mSampleRate == 44_100 && format.mFormatID == kAudioFormatLinearPCM)
    expectEqual(format.mFormatFlags, kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked)
    expectTrue(format.mBytesPerFrame == 6 && format.mBitsPerChannel == 24)
    expectEqual(property(id, kAudioFilePropertyFileFormat, UInt32(0)), kAudioFileWAVEType)
    expectEqual(property(id, kAudioFilePropertyAudioDataByteCount, UInt64(0)), 6000)
    expectEqual(property(id, kAudioFilePropertyAudioDataPacketCount, UInt64(0)), 1000)
    expectEqual(property(id, kAudioFilePropertyMaximumPacketSize, UInt32(0)), 6)
    expectEqual(property(id, kAudioFilePropertyPacketSizeUpperBound, UInt32(0)), 6)
    expectEqual(property(id, kAudioFilePropertyEstimatedDuration, 0.0), 1000 / 44_100.0)
    expectEqual(property(id, kAudioFilePropertyBitRate, UInt32(0)), UInt32(2_116_800))
    let layout = try require(property(id, kAudioFilePropertyChannelLayout, AudioChannelLayout()))
    expectEqual(layout.mChannelLayoutTag, kAudioChannelLayoutTag_Stereo)
    expectEqual(layout.mNumberChannelDescriptions, 0)
  }

  @Test func valuesNeedTheirRoom() throws {
    let id = try require(openFile(path).id)
    defer { AudioFileClose(id) }
    var memory = [UInt8](repeating: 0xAA, count: 64)
    var size: UInt32 = 39
    expectEqual(
      AudioFileGetProperty(id, kAudioFilePropertyDataFormat, &size, &memory),
      kAudioFileBadPropertySizeError)
    expectTrue(memory.allSatisfy { $0 == 0xAA })
    size = 64
    expectEqual(AudioFileGetProperty(id, kAudioFilePropertyDataFormat, &size, &memory), noErr)
    expectTrue(size == 40 && memory[40...].allSatisfy { $0 == 0xAA })
  }

  @Test func whatAFileLacksIsUnsupported() throws {
    let id = try require(openFile(Recipe(.sox, "a.au", .s16).make(in: folder)).id)
    defer { AudioFileClose(id) }
    for property in [kAudioFilePropertyMagicCookieData, kAudioFilePropertyChannelLayout, 0] {
      var size: UInt32 = 4
      expectEqual(
        AudioFileGetPropertyInfo(id, property, &size, nil), kAudioFileUnsupportedPropertyError)
      expectEqual(size, 0)
    }
  }

  @Test(arguments: [
    ("a.aiff", kAudioFileAIFFType), ("a.aifc", kAudioFileAIFCType), ("a.au", kAudioFileNextType),
    ("a.caf", kAudioFileCAFType), ("a.w64", kAudioFileWave64Type), ("a.rf64", kAudioFileRF64Type),
  ])
  func theTypeIsToldByCode(name: String, type: AudioFileTypeID) throws {
    let recipe = try require(recipes.first { $0.name == name && $0.coding == .s16 })
    let id = try require(openFile(recipe.make(in: folder)).id)
    defer { AudioFileClose(id) }
    expectEqual(property(id, kAudioFilePropertyFileFormat, UInt32(0)), type)
  }

  @Test func bothReadersReadToTheEnd() throws {
    let id = try require(openFile(path).id)
    defer { AudioFileClose(id) }
    for limitsBytes in [false, true] {
      var data = Data()
      var packet: Int64 = 0
      while true {
        var memory = [UInt8](repeating: 0, count: 128 * 6)
        var bytes = limitsBytes ? UInt32(100 * 6 + 5) : 0
        var packets: UInt32 = 128
        let status =
          limitsBytes
          ? AudioFileReadPacketData(id, false, &bytes, nil, packet, &packets, &memory)
          : AudioFileReadPackets(id, false, &bytes, nil, packet, &packets, &memory)
        expectEqual(status, noErr)
        expectEqual(bytes, packets * 6)
        if packets == 0 { break }
        if packet == 0 { expectEqual(packets, (limitsBytes ? 100 : 128)) }
        data.append(contentsOf: memory.prefix(Int(bytes)))
        packet += Int64(packets)
      }
      expectEqual(data, recipe.bytes)
    }
  }

  @Test func descriptionsAreFilledIn() throws {
    let id = try require(openFile(path).id)
    defer { AudioFileClose(id) }
    var memory = [UInt8](repeating: 0, count: 18)
    var descriptions = [AudioStreamPacketDescription](repeating: .init(), count: 3)
    var (bytes, packets): (UInt32, UInt32) = (18, 3)
    expectEqual(
      AudioFileReadPacketData(id, false, &bytes, &descriptions, 10, &packets, &memory), noErr)
    expectEqual(descriptions.map(\.mStartOffset), [0, 6, 12])
    expectTrue(descriptions.allSatisfy { $0.mDataByteSize == 6 && $0.mVariableFramesInPacket == 0 })
  }

  @Test func mistakesOfReadersAreErrors() throws {
    let id = try require(openFile(path).id)
    defer { AudioFileClose(id) }
    var memory = [UInt8](repeating: 0, count: 12)
    var (bytes, packets): (UInt32, UInt32) = (12, 2)
    expectEqual(
      AudioFileReadPackets(id, false, &bytes, nil, -1, &packets, &memory), kAudioFilePositionError)
    expectTrue(packets == 0 && bytes == 0)
    packets = 2
    expectEqual(AudioFileReadPackets(id, false, &bytes, nil, 0, &packets, nil), kAudio_ParamError)
    packets = 0
    expectEqual(AudioFileReadPackets(id, false, &bytes, nil, 0, &packets, nil), noErr)
    (bytes, packets) = (5, 2)
    expectEqual(
      AudioFileReadPacketData(id, false, &bytes, nil, 0, &packets, &memory), kAudio_ParamError)
    packets = 2
    expectEqual(
      AudioFileReadPackets(id, false, null(), nil, 0, &packets, &memory), kAudio_ParamError)
    expectEqual(AudioFileReadPackets(id, false, &bytes, nil, 0, null(), &memory), kAudio_ParamError)
    expectEqual(
      AudioFileReadPacketData(id, false, null(), nil, 0, &packets, &memory), kAudio_ParamError)
    expectEqual(
      AudioFileGetProperty(id, kAudioFilePropertyBitRate, null(), &memory), kAudio_ParamError)
  }

  @Test func handlesAreLookedUpNotTrusted() throws {
    let id = try require(openFile(path).id)
    expectEqual(AudioFileClose(id), noErr)
    let other = try require(openFile(path).id)
    defer { AudioFileClose(other) }
    expectTrue(other != id, "a handle is never used again")
    for (stale, status) in [
      (id, kAudioFileNotOpenError), (handle(0x1234_5678), kAudioFileNotOpenError),
      (handle(-1), kAudioFileNotOpenError), (handle(0), kAudio_ParamError),
    ] {
      var (bytes, packets): (UInt32, UInt32) = (6, 1)
      var memory = [UInt8](repeating: 0, count: 64)
      expectEqual(AudioFileClose(stale), status)
      expectEqual(AudioFileReadPackets(stale, false, &bytes, nil, 0, &packets, &memory), status)
      expectEqual(AudioFileGetPropertyInfo(stale, kAudioFilePropertyBitRate, nil, nil), status)
      bytes = 64
      expectEqual(AudioFileGetProperty(stale, kAudioFilePropertyBitRate, &bytes, &memory), status)
    }
  }

  @Test func openingFailsWithTheRightCode() throws {
    expectEqual(openFile(folder.file("missing")).status, kAudioFileFileNotFoundError)
    expectEqual(openFile(folder.path).status, kAudioFileUnsupportedFileTypeError)
    let empty = try folder.write(Data(), to: "empty.wav")
    expectEqual(openFile(empty).status, kAudioFileInvalidFileError)
    let text = try folder.write(Data("no sound, only words and words".utf8), to: "text.wav")
    expectEqual(openFile(text).status, kAudioFileUnsupportedFileTypeError)
    let whole = try Data(contentsOf: URL(fileURLWithPath: path))
    let head = try folder.write(whole.prefix(30), to: "head.wav")
    expectEqual(openFile(head).status, kAudioFileInvalidFileError)
    // Packets can be read but not changed.
    try tool("ffmpeg", ["-v", "error", "-i", path, folder.file("a.flac")])
    let flac = openFile(folder.file("a.flac"), .readWritePermission)
    let id = try require(flac.id)
    var (count, packet): (UInt32, UInt32) = (1, 7)
    expectEqual(
      AudioFileWriteBytes(id, false, 0, &count, &packet), kAudioFileOperationNotSupportedError)
    expectEqual(AudioFileClose(id), noErr)
    try tool("ffmpeg", ["-v", "error", "-i", path, folder.file("a.voc")])
    expectEqual(openFile(folder.file("a.voc")).status, kAudioFileUnsupportedFileTypeError)
    try tool("ffmpeg", ["-v", "error", "-i", path, "-c:a", "adpcm_ms", folder.file("ms.wav")])
    expectEqual(openFile(folder.file("ms.wav")).status, kAudioFileUnsupportedDataFormatError)
    try tool("ffmpeg", ["-v", "error", "-i", path, folder.file("a.tta")])
    expectEqual(openFile(folder.file("a.tta")).status, kAudioFileUnsupportedFileTypeError)
    try tool("lame", ["--quiet", "--freeformat", "-b", "400", path, folder.file("free.mp3")])
    expectEqual(openFile(folder.file("free.mp3")).status, noErr)
    let words = CFStringCreateWithCString(
      nil, "http://example.org/a.wav", CFStringBuiltInEncodings.UTF8.rawValue)
    var none: AudioFileID?
    expectEqual(
      AudioFileOpenURL(CFURLCreateWithString(nil, words, nil)!, .readPermission, 0, &none),
      kAudio_BadFilePathError)
    expectNil(none)
  }

  @Test func layoutsTakeTheirShortestForm() {
    expectEqual(ChannelLayout(roles: [.mono]).tag, kAudioChannelLayoutTag_Mono)
    let quad = ChannelLayout(roles: [.left, .right, .leftSurround, .rightSurround])
    expectEqual(quad.tag, kAudioChannelLayoutTag_UseChannelBitmap)
    let bits: AudioChannelBitmap = [.bit_Left, .bit_Right, .bit_LeftSurround, .bit_RightSurround]
    expectTrue(quad.bitmap == bits.rawValue && quad.byteCount == 32)
    let odd = ChannelLayout(roles: [.centre, .left, .right])
    expectEqual(odd.tag, kAudioChannelLayoutTag_UseChannelDescriptions)
    expectTrue(odd.descriptions.map(\.label) == [3, 1, 2] && odd.byteCount == 72)
    odd.bytes.withUnsafeBytes { bytes in
      expectEqual(bytes.count, 72)
      expectEqual(bytes.load(fromByteOffset: 8, as: UInt32.self), 3)
      expectEqual(bytes.load(fromByteOffset: 52, as: UInt32.self), kAudioChannelLabel_Right)
    }
  }
}
