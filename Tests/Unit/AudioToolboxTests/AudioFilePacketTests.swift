import Codecs
import FileSupport
import Files
import Foundation
import Testing

@testable import AudioToolbox

/// Opens a file for reading.
func openToRead(_ path: String) throws -> AudioFileID {
  let url = CFURLCreateFromFileSystemRepresentation(nil, path, path.utf8.count, false)
  var id: AudioFileID?
  expectEqual(AudioFileOpenURL(url!, .readPermission, 0, &id), noErr)
  return try require(id)
}

/// Returns the value of a property, whose argument may be in `value`; nil on error.
func value<Value: BitwiseCopyable>(
  _ id: AudioFileID, _ property: AudioFilePropertyID, _ value: Value
) -> Value? {
  var value = value
  var size = UInt32(MemoryLayout<Value>.size)
  guard AudioFileGetProperty(id, property, &size, &value) == noErr else { return nil }
  return value
}

private func bytes(_ id: AudioFileID, _ property: AudioFilePropertyID) -> [UInt8]? {
  var size: UInt32 = 0
  guard AudioFileGetPropertyInfo(id, property, &size, nil) == noErr else { return nil }
  var bytes = [UInt8](repeating: 0, count: Int(size))
  guard AudioFileGetProperty(id, property, &size, &bytes) == noErr else { return nil }
  return bytes
}

/// A packet and the frame count in its description.
private struct Packet: Equatable {
  var bytes: Data
  var frames: UInt32
}

private func packets(_ id: AudioFileID) throws -> [Packet] {
  let most = try require(value(id, kAudioFilePropertyPacketSizeUpperBound, UInt32(0)))
  var packets: [Packet] = []
  var memory = [UInt8](repeating: 0, count: Int(most) * 7)
  var descriptions = [AudioStreamPacketDescription](repeating: .init(), count: 50)
  while true {
    var (size, count) = (UInt32(memory.count), UInt32(50))
    let status = AudioFileReadPacketData(
      id, false, &size, &descriptions, Int64(packets.count), &count, &memory)
    expectEqual(status, noErr)
    if count == 0 || status != noErr { return packets }
    for description in descriptions.prefix(Int(count)) {
      let start = Int(description.mStartOffset)
      packets.append(
        Packet(
          bytes: Data(memory[start..<start + Int(description.mDataByteSize)]),
          frames: description.mVariableFramesInPacket))
    }
  }
}

/// A file made by ffmpeg, and the file types to which its packets are copied.
private struct Copy: Sendable, CustomTestStringConvertible {
  let name: String
  let codec: [String]
  let kinds: [AudioFileTypeID]
  var testDescription: String { name }

  static let all: [Copy] = [
    Copy(
      name: "aac.m4a", codec: ["-c:a", "aac"],
      kinds: [kAudioFileM4AType, kAudioFileCAFType, kAudioFileMPEG4Type, kAudioFileAAC_ADTSType]),
    Copy(name: "aac.aac", codec: ["-c:a", "aac"], kinds: [kAudioFileM4AType, kAudioFileCAFType]),
    Copy(
      name: "alac.m4a", codec: ["-c:a", "alac"], kinds: [kAudioFileM4AType, kAudioFileCAFType]),
    Copy(
      name: "flac.flac", codec: ["-c:a", "flac"], kinds: [kAudioFileFLACType, kAudioFileCAFType]),
    Copy(
      name: "opus.ogg", codec: ["-c:a", "libopus"], kinds: [kAudioFileOggType, kAudioFileCAFType]),
    Copy(name: "vorbis.ogg", codec: ["-c:a", "libvorbis"], kinds: [kAudioFileOggType]),
    Copy(name: "mp3.mp3", codec: ["-c:a", "libmp3lame"], kinds: [kAudioFileMP3Type]),
    Copy(name: "ac3.ac3", codec: ["-c:a", "ac3"], kinds: [kAudioFileAC3Type, kAudioFileCAFType]),
    Copy(
      name: "ulaw.wav", codec: ["-c:a", "pcm_mulaw"],
      kinds: [kAudioFileWAVEType, kAudioFileCAFType, kAudioFileAIFCType, kAudioFileNextType]),
    Copy(name: "ima.caf", codec: ["-c:a", "adpcm_ima_qt"], kinds: [kAudioFileCAFType]),
  ]
}

@Suite(.tags(.program)) struct AudioFilePacketTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func make(_ copy: Copy) throws -> String {
    let path = folder.file(copy.name)
    try tool(
      "ffmpeg",
      ["-v", "error", "-f", "lavfi", "-i", "sine=440:r=48000:d=0.7", "-ac", "2"] + copy.codec + [
        "-metadata", "title=Lied", path,
      ])
    return path
  }

  private func probedPackets(_ path: String) throws -> String {
    try tool(
      "ffprobe",
      [
        "-v", "warning", "-count_packets", "-show_entries", "stream=nb_read_packets,codec_name",
        "-of", "csv=p=0", path,
      ]
    ).text
  }

  @Test(arguments: Copy.all)
  fileprivate func packetsAreCopied(copy: Copy) throws {
    let source = try openToRead(make(copy))
    defer { expectEqual(AudioFileClose(source), noErr) }
    let original = try packets(source)
    expectTrue(original.count > 5)
    expectEqual(
      value(source, kAudioFilePropertyAudioDataPacketCount, UInt64(0)), UInt64(original.count))
    expectEqual(
      value(source, kAudioFilePropertyAudioDataByteCount, UInt64(0)),
      UInt64(original.reduce(0) { $0 + $1.bytes.count }))
    let format = try require(
      value(source, kAudioFilePropertyDataFormat, AudioStreamBasicDescription()))
    let cookie = bytes(source, kAudioFilePropertyMagicCookieData)
    let table = value(source, kAudioFilePropertyPacketTableInfo, AudioFilePacketTableInfo())
    expectTrue(!copy.name.hasSuffix("m4a") || cookie != nil && table != nil)

    for kind in copy.kinds {
      let path = folder.file("copy-\(kind)")
      let url = CFURLCreateFromFileSystemRepresentation(nil, path, path.utf8.count, false)
      var id: AudioFileID?
      var wanted = format
      try require(
        AudioFileCreateWithURL(url!, kind, &wanted, .eraseFile, &id) == noErr)
      let file = try require(id)
      if let cookie {
        expectEqual(
          AudioFileSetProperty(
            file, kAudioFilePropertyMagicCookieData, UInt32(cookie.count), cookie), noErr)
      }
      if var table {
        expectEqual(
          AudioFileSetProperty(
            file, kAudioFilePropertyPacketTableInfo, UInt32(MemoryLayout.size(ofValue: table)),
            &table), noErr)
      }
      for first in stride(from: 0, to: original.count, by: 13) {
        let some = original[first..<min(first + 13, original.count)]
        let data = [UInt8](some.reduce(into: Data()) { $0 += $1.bytes })
        var offset: Int64 = 0
        let descriptions = some.map { packet in
          defer { offset += Int64(packet.bytes.count) }
          return AudioStreamPacketDescription(
            mStartOffset: offset, mVariableFramesInPacket: packet.frames,
            mDataByteSize: UInt32(packet.bytes.count))
        }
        var count = UInt32(some.count)
        let status = AudioFileWritePackets(
          file, false, UInt32(data.count), descriptions, Int64(first), &count, data)
        expectTrue(status == noErr && count == some.count)
      }
      // Packets can only be appended.
      var count: UInt32 = 1
      var description = AudioStreamPacketDescription(
        mStartOffset: 0, mVariableFramesInPacket: 0,
        mDataByteSize: UInt32(original[0].bytes.count))
      expectEqual(
        AudioFileWritePackets(
          file, false, UInt32(original[0].bytes.count), &description, 3, &count,
          [UInt8](original[0].bytes)), kAudioFileOperationNotSupportedError)
      expectEqual(count, 0)
      expectEqual(AudioFileClose(file), noErr)

      let again = try openToRead(path)
      expectEqual(value(again, kAudioFilePropertyFileFormat, UInt32(0)), kind)
      let got = try require(
        value(again, kAudioFilePropertyDataFormat, AudioStreamBasicDescription()))
      expectTrue(got.mFormatID == format.mFormatID && got.mSampleRate == format.mSampleRate)
      expectTrue(got.mChannelsPerFrame == 2 && got.mFramesPerPacket == format.mFramesPerPacket)
      let copied = try packets(again)
      expectTrue(copied.count == original.count && copied == original, "\(kind)")
      let isTabled = kind == kAudioFileM4AType || kind == kAudioFileCAFType
      if isTabled, let table {
        let kept = value(again, kAudioFilePropertyPacketTableInfo, AudioFilePacketTableInfo())
        expectEqual(kept?.mNumberValidFrames, table.mNumberValidFrames)
        expectEqual(kept?.mPrimingFrames, table.mPrimingFrames)
      }
      expectEqual(AudioFileClose(again), noErr)
      let probed = try probedPackets(path)
      let counted = probed.split(separator: ",").last.flatMap {
        Int($0.trimmingCharacters(in: .whitespacesAndNewlines))
      }
      // libavformat reads several constant-size packets at a time.
      if format.mBytesPerPacket == 0 { expectEqual(counted, original.count, "\(probed)") }
    }
  }

  @Test func chunksOfFilesOfPackets() throws {
    let source = try openToRead(make(Copy.all[0]))
    defer { AudioFileClose(source) }
    var format = try require(
      value(source, kAudioFilePropertyDataFormat, AudioStreamBasicDescription()))
    let packet = try packets(source)[3]
    let path = folder.file("a.caf")
    let url = CFURLCreateFromFileSystemRepresentation(nil, path, path.utf8.count, false)
    var id: AudioFileID?
    expectEqual(AudioFileCreateWithURL(url!, kAudioFileCAFType, &format, .eraseFile, &id), noErr)
    let file = try require(id)
    let cookie = try require(bytes(source, kAudioFilePropertyMagicCookieData))
    expectEqual(
      AudioFileSetProperty(file, kAudioFilePropertyMagicCookieData, UInt32(cookie.count), cookie),
      noErr)
    let test: UInt32 = 0x7465_7374
    expectEqual(AudioFileSetUserData(file, test, 0, 3, [1, 2, 3] as [UInt8]), noErr)
    var count: UInt32 = 1
    var description = AudioStreamPacketDescription(
      mStartOffset: 0, mVariableFramesInPacket: 0, mDataByteSize: UInt32(packet.bytes.count))
    expectEqual(
      AudioFileWritePackets(
        file, false, UInt32(packet.bytes.count), &description, 0, &count, [UInt8](packet.bytes)),
      noErr)
    let markers = MediaMarkers(markers: [.init(position: 100, name: "here", id: 4)]).value
    expectEqual(
      AudioFileSetProperty(file, kAudioFilePropertyMarkerList, UInt32(markers.count), markers),
      noErr)
    expectTrue(
      AudioFileSetUserData(file, 0x6B75_6B69, 0, 1, [1] as [UInt8]) != noErr,
      "a cookie is no user data")
    expectEqual(AudioFileClose(file), noErr)

    let again = try openToRead(path)
    defer { AudioFileClose(again) }
    var data: [UInt8] = [0, 0, 0, 0]
    var size: UInt32 = 4
    expectEqual(AudioFileGetUserData(again, test, 0, &size, &data), noErr)
    expectTrue(size == 3 && data == [1, 2, 3, 0])
    let list = try require(bytes(again, kAudioFilePropertyMarkerList).flatMap(MediaMarkers.init))
    expectTrue(list.markers.map(\.name) == ["here"] && list.markers[0].position == 100)
    expectEqual(AudioFileSetUserData(again, test, 0, 1, [1] as [UInt8]), kAudioFilePermissionsError)
  }

  @Test func tagsOfID3AreGivenWhole() throws {
    let path = try make(try require(Copy.all.first { $0.name == "mp3.mp3" }))
    let file = try openToRead(path)
    defer { AudioFileClose(file) }
    let tag = try require(bytes(file, kAudioFilePropertyID3Tag))
    let whole = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    expectTrue(tag == Array(whole.prefix(tag.count)) && tag.count > 20)
    expectTrue(tag.prefix(3).elementsEqual("ID3".utf8) && whole[tag.count] == 0xFF)
    expectNil(bytes(try openToRead(make(Copy.all[0])), kAudioFilePropertyID3Tag))
  }
}
