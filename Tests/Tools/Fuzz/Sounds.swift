import AudioToolbox
import Foundation

/// Damaged sound files, read by every function that reads files.
struct Sounds: Subject {
  private let corpus: Corpus
  private let isVerbose: Bool
  /// True to make each mutation in turn instead of random ones.
  private let isSystematic: Bool

  init(_ corpus: Corpus, isVerbose: Bool, isSystematic: Bool = false) {
    self.corpus = corpus
    self.isVerbose = isVerbose
    self.isSystematic = isSystematic
  }

  func input(_ dice: inout Dice) -> Corpus.File {
    isSystematic ? corpus.mutated(dice.number) : corpus.damaged(&dice)
  }

  func run(_ file: Corpus.File, scratch: String, _ dice: inout Dice) throws {
    if dice.once(in: 2) {
      readFromMemory(file.bytes, hint: Self.hint(file.name, &dice), &dice)
    } else {
      let path = "\(scratch).sound"
      defer { unlink(path) }
      try Data(file.bytes).write(to: URL(fileURLWithPath: path))
      let name = Array(path.utf8)
      let url = CFURLCreateFromFileSystemRepresentation(nil, name, name.count, false)!
      readFile(url, hint: Self.hint(file.name, &dice), &dice)
      readConverted(url, &dice)
      if dice.once(in: 3) { optimize(url, &dice) }
    }
    readStream(file, hint: Self.hint(file.name, &dice), &dice)
  }

  func note(_ text: @autoclosure () -> String) { if isVerbose { print("  \(text())") } }

  /// Returns the file type that the name implies, or another one.
  private static func hint(_ name: String, _ dice: inout Dice) -> AudioFileTypeID {
    let hints: [String: AudioFileTypeID] = [
      "aac": kAudioFileAAC_ADTSType, "mp3": kAudioFileMP3Type, "mp2": kAudioFileMP2Type,
      "ac3": kAudioFileAC3Type, "caf": kAudioFileCAFType, "wav": kAudioFileWAVEType,
      "m4a": kAudioFileM4AType, "flac": kAudioFileFLACType, "aiff": kAudioFileAIFFType,
    ]
    switch dice.roll(4) {
    case 0: return 0
    case 1: return hints.values.sorted()[dice.roll(hints.count)]
    default: return name.split(separator: ".").last.flatMap { hints[String($0)] } ?? 0
    }
  }

  // MARK: AudioFile

  private func readFile(_ url: CFURL, hint: AudioFileTypeID, _ dice: inout Dice) {
    var opened: AudioFileID?
    let status = AudioFileOpenURL(url, .readPermission, hint, &opened)
    note("AudioFileOpenURL: \(status)")
    if let file = opened { readAll(file, &dice) }
  }

  /// Optimizes the file, so that nothing follows the audio data, and reads it again.
  private func optimize(_ url: CFURL, _ dice: inout Dice) {
    var opened: AudioFileID?
    let status = AudioFileOpenURL(url, .readWritePermission, 0, &opened)
    guard status == noErr, let file = opened else { return }
    let outcome = AudioFileOptimize(file)
    note("AudioFileOptimize: \(outcome)")
    readAll(file, &dice)
  }

  /// The data for an app's read callbacks.
  private final class Memory {
    let bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
  }

  private func readFromMemory(_ bytes: [UInt8], hint: AudioFileTypeID, _ dice: inout Dice) {
    let memory = Memory(bytes)
    var opened: AudioFileID?
    let status = AudioFileOpenWithCallbacks(
      Unmanaged.passUnretained(memory).toOpaque(),
      { data, offset, count, buffer, done in
        let bytes = Unmanaged<Memory>.fromOpaque(data).takeUnretainedValue().bytes
        let start = Int(clamping: max(0, min(offset, Int64(bytes.count))))
        let part = bytes[start...].prefix(Int(count))
        UnsafeMutableRawBufferPointer(start: buffer, count: Int(count)).copyBytes(from: part)
        done.pointee = UInt32(part.count)
        return noErr
      }, nil,
      { data in Int64(Unmanaged<Memory>.fromOpaque(data).takeUnretainedValue().bytes.count) }, nil,
      hint, &opened)
    note("AudioFileOpenWithCallbacks: \(status)")
    if let file = opened { readAll(file, &dice) }
    withExtendedLifetime(memory) {}
  }

  /// Reads and closes a file.
  private func readAll(_ file: AudioFileID, _ dice: inout Dice) {
    defer { AudioFileClose(file) }
    for id in Self.fileProperties {
      var size: UInt32 = 0
      var isWritable: UInt32 = 0
      guard AudioFileGetPropertyInfo(file, id, &size, &isWritable) == noErr, size < 1 << 24 else {
        continue
      }
      var memory = [UInt8](repeating: 0, count: Int(size) + 8)
      if AudioFileGetProperty(file, id, &size, &memory) == noErr, id == Self.infoDictionary {
        release(memory)
      }
    }
    var format = AudioStreamBasicDescription()
    var size = UInt32(MemoryLayout.size(ofValue: format))
    guard AudioFileGetProperty(file, kAudioFilePropertyDataFormat, &size, &format) == noErr else {
      return
    }
    convert(file, format, &dice)
    // Read from start to end, then at random positions.
    var packet: Int64 = 0
    for round in 0..<60 {
      var count = UInt32(dice.roll(64) + 1)
      let room = dice.once(in: 4) ? dice.roll(40) : 1 << 16
      var byteCount = UInt32(room)
      var descriptions = [AudioStreamPacketDescription](
        repeating: AudioStreamPacketDescription(), count: Int(count))
      var memory = [UInt8](repeating: 0, count: room)
      let status = AudioFileReadPacketData(
        file, dice.once(in: 2), &byteCount, &descriptions, packet, &count, &memory)
      note("AudioFileReadPacketData(\(packet)): \(status), \(count) packets, \(byteCount) bytes")
      if round > 40 {
        packet = dice.once(in: 8) ? Int64(bitPattern: dice.next()) : Int64(dice.roll(2000))
      } else {
        packet += Int64(max(1, count))
      }
    }
  }

  private static let infoDictionary: UInt32 = 0x696E_666F

  /// Property names, including unknown ones, which must give errors.
  private static let fileProperties: [UInt32] = [
    "ffmt", "dfmt", "optm", "mgic", "bcnt", "pcnt", "psze", "doff", "cmap", "mkls", "rgls", "pnfo",
    "info", "pkub", "edur", "brat", "flst", "chid", "uuid", "rsrv", "id3t", "ldcn", "sbtd", "nono",
  ].map { $0.utf8.reduce(0) { $0 << 8 | UInt32($1) } }

  private func release(_ memory: [UInt8]) {
    let pointer = memory.withUnsafeBytes { $0.loadUnaligned(as: UnsafeRawPointer?.self) }
    if let pointer { Unmanaged<CFDictionary>.fromOpaque(pointer).release() }
  }

  // MARK: AudioFileStream

  private final class Heard {
    var packets = 0
    var sum: UInt64 = 0
  }

  private func readStream(_ file: Corpus.File, hint: AudioFileTypeID, _ dice: inout Dice) {
    let heard = Heard()
    var opened: AudioFileStreamID?
    let status = AudioFileStreamOpen(
      Unmanaged.passUnretained(heard).toOpaque(),
      { _, stream, id, _ in
        var size: UInt32 = 0
        guard AudioFileStreamGetPropertyInfo(stream, id, &size, nil) == noErr else { return }
        var memory = [UInt8](repeating: 0, count: Int(size))
        let status = AudioFileStreamGetProperty(stream, id, &size, &memory)
        if status == noErr, id == kAudioFileStreamProperty_InfoDictionary {
          let pointer = memory.withUnsafeBytes { $0.loadUnaligned(as: UnsafeRawPointer.self) }
          Unmanaged<CFDictionary>.fromOpaque(pointer).release()
        }
      },
      { data, bytes, count, sound, descriptions in
        let heard = Unmanaged<Heard>.fromOpaque(data).takeUnretainedValue()
        heard.packets += Int(count)
        let memory = UnsafeRawBufferPointer(start: sound, count: Int(bytes))
        guard let descriptions else { return heard.sum &+= memory.reduce(0) { $0 &+ UInt64($1) } }
        for packet in UnsafeBufferPointer(start: descriptions, count: Int(count)) {
          let start = Int(packet.mStartOffset)
          let part = memory[start..<start + Int(packet.mDataByteSize)]
          heard.sum &+= part.reduce(0) { $0 &+ UInt64($1) }
        }
      }, hint, &opened)
    guard let stream = opened else { return note("AudioFileStreamOpen: \(status)") }
    defer { AudioFileStreamClose(stream) }
    let largest = [1, 16, 500, 5000, 1 << 18][dice.roll(5)]
    var position = 0
    var jumps = 0
    while position < file.bytes.count {
      let count = min(dice.roll(largest) + 1, file.bytes.count - position)
      // A separate copy, so that a sanitizer detects reads outside it.
      let piece = Array(file.bytes[position..<position + count])
      let isJump = dice.once(in: 40)
      let status = AudioFileStreamParseBytes(
        stream, UInt32(count), piece, isJump ? .discontinuity : [])
      note("AudioFileStreamParseBytes(\(count)): \(status), \(heard.packets) packets")
      guard status == noErr else { break }
      position += count
      if jumps < 5, dice.once(in: 20) {
        jumps += 1
        var offset: Int64 = 0
        var flags: AudioFileStreamSeekFlags = []
        let packet = dice.once(in: 8) ? Int64(bitPattern: dice.next()) : Int64(dice.roll(100))
        if AudioFileStreamSeek(stream, packet, &offset, &flags) == noErr, offset >= 0,
          offset < file.bytes.count
        {
          position = Int(offset)
        }
        translate(stream, &dice)
      }
    }
  }

  private func translate(_ stream: AudioFileStreamID, _ dice: inout Dice) {
    for id in [
      kAudioFileStreamProperty_PacketToFrame, kAudioFileStreamProperty_FrameToPacket,
      kAudioFileStreamProperty_PacketToByte, kAudioFileStreamProperty_ByteToPacket,
    ] {
      let number = dice.once(in: 4) ? Int64(bitPattern: dice.next()) : Int64(dice.roll(5000))
      var question = AudioFramePacketTranslation(
        mFrame: number, mPacket: number, mFrameOffsetInPacket: 0)
      var size = UInt32(MemoryLayout.size(ofValue: question))
      if id == kAudioFileStreamProperty_PacketToByte || id == kAudioFileStreamProperty_ByteToPacket
      {
        var other = AudioBytePacketTranslation(
          mByte: number, mPacket: number, mByteOffsetInPacket: 0, mFlags: [])
        size = UInt32(MemoryLayout.size(ofValue: other))
        _ = AudioFileStreamGetProperty(stream, id, &size, &other)
      } else {
        _ = AudioFileStreamGetProperty(stream, id, &size, &question)
      }
    }
  }
}
