// Parses a file as if it arrived from the network, and reports its packets.
//
// Usage: streamparser FILE

import AudioToolbox
import Foundation

final class StreamParser {
  private var streamID: AudioFileStreamID?
  private(set) var format = AudioStreamBasicDescription()
  private(set) var formatList: [AudioFormatListItem] = []
  private(set) var packetCount = 0
  private(set) var byteCount = 0
  private(set) var isReady = false

  init(hint: AudioFileTypeID) throws {
    let context = Unmanaged.passUnretained(self).toOpaque()
    let status = AudioFileStreamOpen(
      context, propertyListener, packetsListener, hint, &streamID)
    guard status == noErr else {
      throw NSError(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: nil)
    }
  }

  deinit {
    if let streamID { AudioFileStreamClose(streamID) }
  }

  func parse(_ data: Data) throws {
    let status = data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) -> OSStatus in
      AudioFileStreamParseBytes(
        streamID!, UInt32(data.count), bytes.baseAddress, AudioFileStreamParseFlags(rawValue: 0))
    }
    guard status == noErr else {
      throw NSError(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: nil)
    }
  }

  fileprivate func handleProperty(_ propertyID: AudioFileStreamPropertyID) {
    guard let streamID else { return }
    switch propertyID {
    case kAudioFileStreamProperty_DataFormat:
      var size = UInt32(MemoryLayout<AudioStreamBasicDescription>.size)
      AudioFileStreamGetProperty(streamID, propertyID, &size, &format)
    case kAudioFileStreamProperty_ReadyToProducePackets:
      isReady = true
    case kAudioFileStreamProperty_FormatList:
      var size: UInt32 = 0
      var writable: DarwinBoolean = false
      guard AudioFileStreamGetPropertyInfo(streamID, propertyID, &size, &writable) == noErr else {
        return
      }
      let count = Int(size) / MemoryLayout<AudioFormatListItem>.size
      formatList = Array(repeating: AudioFormatListItem(), count: count)
      AudioFileStreamGetProperty(streamID, propertyID, &size, &formatList)
    default:
      break
    }
  }

  fileprivate func handlePackets(
    _ data: UnsafeRawPointer, bytes: UInt32, packets: UInt32,
    descriptions: UnsafeMutablePointer<AudioStreamPacketDescription>?
  ) {
    if let descriptions {
      for index in 0..<Int(packets) {
        let description = descriptions[index]
        let start = Int(description.mStartOffset)
        let packet = Data(bytes: data.advanced(by: start), count: Int(description.mDataByteSize))
        byteCount += packet.count
      }
    } else {
      byteCount += Int(bytes)
    }
    packetCount += Int(packets)
  }
}

private func propertyListener(
  inClientData: UnsafeMutableRawPointer, inAudioFileStream: AudioFileStreamID,
  inPropertyID: AudioFileStreamPropertyID,
  ioFlags: UnsafeMutablePointer<AudioFileStreamPropertyFlags>
) {
  Unmanaged<StreamParser>.fromOpaque(inClientData).takeUnretainedValue()
    .handleProperty(inPropertyID)
}

private func packetsListener(
  inClientData: UnsafeMutableRawPointer, inNumberBytes: UInt32, inNumberPackets: UInt32,
  inInputData: UnsafeRawPointer,
  inPacketDescriptions: UnsafeMutablePointer<AudioStreamPacketDescription>?
) {
  let parser = Unmanaged<StreamParser>.fromOpaque(inClientData).takeUnretainedValue()
  parser.handlePackets(
    inInputData, bytes: inNumberBytes, packets: inNumberPackets,
    descriptions: inPacketDescriptions)
}

do {
  let url = URL(fileURLWithPath: CommandLine.arguments[1])
  let hint = url.pathExtension == "mp3" ? kAudioFileMP3Type : 0
  let parser = try StreamParser(hint: hint)
  let file = try FileHandle(forReadingFrom: url)
  while true {
    let data = file.readData(ofLength: 1500)
    if data.isEmpty { break }
    try parser.parse(data)
  }
  print(
    "\(parser.packetCount) packets, \(parser.byteCount) bytes, \(Int(parser.format.mSampleRate)) Hz,"
      + " ready: \(parser.isReady)")
} catch let error as NSError {
  print("Error: \(error.domain) \(error.code)")
  exit(1)
}
