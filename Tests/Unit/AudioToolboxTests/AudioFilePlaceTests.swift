import FileSupport
import Foundation
import Testing

@testable import AudioToolbox

/// Files with packets of constant and variable size and duration, and their ffmpeg codecs.
private let files: [(name: String, codec: String)] = [
  ("pcm.wav", "pcm_s24le"), ("pcm.aiff", "pcm_s16be"), ("pcm.caf", "pcm_f32be"),
  ("pcm.au", "pcm_s16be"), ("ulaw.wav", "pcm_mulaw"), ("alaw.au", "pcm_alaw"),
  ("ima.caf", "adpcm_ima_qt"), ("ima.aiff", "adpcm_ima_qt"), ("ima.wav", "adpcm_ima_wav"),
  ("aac.m4a", "aac"), ("alac.m4a", "alac"), ("alac.caf", "alac"), ("aac.aac", "aac"),
  ("mp3.mp3", "libmp3lame"), ("mp2.mp2", "mp2"), ("ac3.ac3", "ac3"), ("flac.flac", "flac"),
  ("opus.ogg", "libopus"), ("opus.caf", "libopus"), ("vorbis.ogg", "libvorbis"),
]

/// Properties of AudioFile that translate between packets, frames and bytes.
@Suite(.tags(.program)) struct AudioFilePlaceTests {
  private func file(_ name: String, _ codec: String, in folder: TemporaryFolder) throws
    -> AudioFileID
  {
    let path = folder.file(name)
    try tool(
      "ffmpeg",
      ["-v", "error", "-f", "lavfi", "-i", "anoisesrc=r=48000:d=0.5:seed=3:amplitude=0.4"]
        + ["-ac", "2", "-c:a", codec, path])
    return try openToRead(path)
  }

  private func frames(_ frame: Int64, _ packet: Int64, _ rest: UInt32 = 0)
    -> AudioFramePacketTranslation
  {
    AudioFramePacketTranslation(mFrame: frame, mPacket: packet, mFrameOffsetInPacket: rest)
  }

  private func bytes(_ byte: Int64, _ packet: Int64, _ rest: UInt32 = 0)
    -> AudioBytePacketTranslation
  {
    AudioBytePacketTranslation(
      mByte: byte, mPacket: packet, mByteOffsetInPacket: rest, mFlags: [])
  }

  /// Returns the bytes and the frame count of each packet.
  private func packets(_ id: AudioFileID) throws -> [(bytes: [UInt8], frames: Int64)] {
    let format = try require(
      value(id, kAudioFilePropertyDataFormat, AudioStreamBasicDescription()))
    let most = try require(value(id, kAudioFilePropertyPacketSizeUpperBound, UInt32(0)))
    let total = try require(value(id, kAudioFilePropertyAudioDataPacketCount, UInt64(0)))
    var packets: [(bytes: [UInt8], frames: Int64)] = []
    var memory = [UInt8](repeating: 0, count: Int(most))
    for packet in 0..<Int64(min(total, 2000)) {
      var (size, count) = (most, UInt32(1))
      var description = AudioStreamPacketDescription()
      let status = AudioFileReadPacketData(
        id, false, &size, &description, packet, &count, &memory)
      expectTrue(status == noErr && count == 1)
      let frames =
        format.mFramesPerPacket > 0 ? format.mFramesPerPacket : description.mVariableFramesInPacket
      packets.append((Array(memory[..<Int(size)]), Int64(frames)))
    }
    return packets
  }

  @Test(arguments: files.map(\.name))
  func placesAreTranslatedThereAndBack(name: String) throws {
    let folder = try TemporaryFolder()
    let codec = try require(files.first { $0.name == name }?.codec)
    let id = try file(name, codec, in: folder)
    defer { AudioFileClose(id) }
    let packets = try packets(id)
    try require(packets.count > 5)
    var (frame, byte) = (Int64(0), Int64(0))
    for (number, packet) in packets.enumerated() where number < 60 || number > packets.count - 3 {
      if number == packets.count - 2 {
        frame = packets[..<number].reduce(0) { $0 + $1.frames }
        byte = packets[..<number].reduce(0) { $0 + Int64($1.bytes.count) }
      }
      let number = Int64(number)
      expectEqual(value(id, kAudioFilePropertyPacketToFrame, frames(-5, number))?.mFrame, frame)
      expectEqual(value(id, kAudioFilePropertyPacketToByte, bytes(-5, number))?.mByte, byte)
      for rest in Set([0, packet.frames / 2, packet.frames - 1])
      where rest >= 0 && rest < packet.frames {
        let back = value(id, kAudioFilePropertyFrameToPacket, frames(frame + rest, -5, 99))
        expectTrue(back?.mPacket == number && back?.mFrameOffsetInPacket == UInt32(rest))
      }
      let length = packet.bytes.count
      for rest in Set([0, length / 2, length - 1]) {
        let back = value(id, kAudioFilePropertyByteToPacket, bytes(byte + Int64(rest), -5, 99))
        expectTrue(back?.mPacket == number && back?.mByteOffsetInPacket == UInt32(rest))
        expectEqual(back?.mFlags, [], "exact")
      }
      // The audio data consists of consecutive packets.
      var memory = [UInt8](repeating: 0, count: length)
      var count = UInt32(length)
      expectEqual(AudioFileReadBytes(id, false, byte, &count, &memory), noErr)
      expectTrue(memory == packet.bytes && count == UInt32(length))
      frame += packet.frames
      byte += Int64(length)
    }
  }

  @Test(arguments: ["pcm.wav", "aac.m4a", "vorbis.ogg", "mp3.mp3"])
  func questionsThatCannotBeAnswered(name: String) throws {
    let folder = try TemporaryFolder()
    let codec = try require(files.first { $0.name == name }?.codec)
    let id = try file(name, codec, in: folder)
    defer { AudioFileClose(id) }
    for property in [kAudioFilePropertyPacketToFrame, kAudioFilePropertyFrameToPacket] {
      expectNil(value(id, property, frames(-1, -1)))
      var size: UInt32 = 0
      expectTrue(AudioFileGetPropertyInfo(id, property, &size, nil) == noErr && size == 24)
      var question = frames(0, 0)
      size = 23
      expectEqual(
        AudioFileGetProperty(id, property, &size, &question), kAudioFileBadPropertySizeError)
      // A size larger than needed.
      size = .max
      expectTrue(AudioFileGetProperty(id, property, &size, &question) == noErr && size == 24)
    }
    for property in [kAudioFilePropertyPacketToByte, kAudioFilePropertyByteToPacket] {
      expectNil(value(id, property, bytes(-1, -1)))
      var question = bytes(0, 0)
      var size: UInt32 = .max
      expectTrue(AudioFileGetProperty(id, property, &size, &question) == noErr && size == 24)
      expectTrue(AudioFileSetProperty(id, property, 24, &question) != noErr)
    }
  }
}
