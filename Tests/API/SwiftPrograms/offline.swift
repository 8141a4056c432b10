// Renders a file with an offline queue into a CAF file of floats.
//
// Usage: offline SOURCE DESTINATION

import AudioToolbox
import Foundation

class OfflineSource {
  let file: AudioFileID
  let format: AudioStreamBasicDescription
  var position: Int64 = 0
  var isDone = false

  init?(url: URL) {
    var fileID: AudioFileID?
    guard AudioFileOpenURL(url as CFURL, AudioFilePermissions.readPermission, 0, &fileID) == noErr,
      let fileID
    else { return nil }
    file = fileID
    var format = AudioStreamBasicDescription()
    var size = UInt32(MemoryLayout<AudioStreamBasicDescription>.size)
    guard AudioFileGetProperty(fileID, kAudioFilePropertyDataFormat, &size, &format) == noErr
    else { return nil }
    self.format = format
  }

  deinit { AudioFileClose(file) }
}

func fill(
  _ userData: UnsafeMutableRawPointer?, _ queue: AudioQueueRef, _ buffer: AudioQueueBufferRef
) {
  let source = Unmanaged<OfflineSource>.fromOpaque(userData!).takeUnretainedValue()
  guard !source.isDone else { return }
  var bytes = buffer.pointee.mAudioDataBytesCapacity
  var packets = bytes / source.format.mBytesPerPacket
  let status = AudioFileReadPacketData(
    source.file, false, &bytes, nil, source.position, &packets, buffer.pointee.mAudioData)
  if status == noErr || status == kAudioFileEndOfFileError, packets > 0 {
    buffer.pointee.mAudioDataByteSize = bytes
    _ = AudioQueueEnqueueBuffer(queue, buffer, 0, nil)
    source.position += Int64(packets)
  } else {
    source.isDone = true
    AudioQueueStop(queue, false)
  }
}

func render(_ source: OfflineSource, to destination: URL) -> OSStatus {
  var format = source.format
  var queue: AudioQueueRef?
  let context = Unmanaged.passUnretained(source).toOpaque()
  var status = AudioQueueNewOutput(&format, fill, context, nil, nil, 0, &queue)
  guard status == noErr, let queue = queue else { return status }
  defer { AudioQueueDispose(queue, true) }

  var captureFormat = AudioStreamBasicDescription()
  captureFormat.mSampleRate = format.mSampleRate
  captureFormat.mFormatID = kAudioFormatLinearPCM
  captureFormat.mFormatFlags = kAudioFormatFlagsNativeFloatPacked
  captureFormat.mChannelsPerFrame = format.mChannelsPerFrame
  captureFormat.mBitsPerChannel = 32
  captureFormat.mFramesPerPacket = 1
  captureFormat.mBytesPerFrame = 4 * format.mChannelsPerFrame
  captureFormat.mBytesPerPacket = captureFormat.mBytesPerFrame
  var layout = AudioChannelLayout()
  layout.mChannelLayoutTag = kAudioChannelLayoutTag_Stereo
  status = AudioQueueSetOfflineRenderFormat(queue, &captureFormat, &layout)
  guard status == noErr else { return status }

  var captureFile: ExtAudioFileRef?
  status = ExtAudioFileCreateWithURL(
    destination as CFURL, kAudioFileCAFType, &captureFormat, nil,
    AudioFileFlags.eraseFile.rawValue, &captureFile)
  guard status == noErr, let captureFile else { return status }
  defer { ExtAudioFileDispose(captureFile) }

  let framesPerBuffer: UInt32 = 4096
  var captureBuffer: AudioQueueBufferRef?
  AudioQueueAllocateBuffer(queue, framesPerBuffer * captureFormat.mBytesPerFrame, &captureBuffer)
  for _ in 0..<3 {
    var buffer: AudioQueueBufferRef?
    AudioQueueAllocateBuffer(queue, 16384, &buffer)
    if let buffer { fill(context, queue, buffer) }
  }
  status = AudioQueueStart(queue, nil)
  guard status == noErr, let captureBuffer else { return status }

  var timeStamp = AudioTimeStamp()
  timeStamp.mFlags = [.sampleTimeValid]
  // The first call starts the queue.
  status = AudioQueueOfflineRender(queue, &timeStamp, captureBuffer, 0)
  while status == noErr {
    status = AudioQueueOfflineRender(queue, &timeStamp, captureBuffer, framesPerBuffer)
    let byteSize = captureBuffer.pointee.mAudioDataByteSize
    let frames = byteSize / captureFormat.mBytesPerFrame
    var list = AudioBufferList(
      mNumberBuffers: 1,
      mBuffers: AudioBuffer(
        mNumberChannels: captureFormat.mChannelsPerFrame, mDataByteSize: byteSize,
        mData: captureBuffer.pointee.mAudioData))
    if frames > 0 { status = ExtAudioFileWrite(captureFile, frames, &list) }
    timeStamp.mSampleTime += Float64(frames)
    if frames == 0 && source.isDone { break }
  }
  print("Rendered \(Int(timeStamp.mSampleTime)) frames")
  return status
}

guard let source = OfflineSource(url: URL(fileURLWithPath: CommandLine.arguments[1])) else {
  print("cannot open the file")
  exit(1)
}
exit(render(source, to: URL(fileURLWithPath: CommandLine.arguments[2])) == noErr ? 0 : 1)
