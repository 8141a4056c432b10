public import AudioToolbox
public import Foundation

extension ChannelLayout {
  /// The layout; nil for mono and stereo, which say no more than the number of channels.
  var telling: ChannelLayout? {
    channels <= 2 && self == ChannelLayout(channels: channels) ? nil : self
  }
}

/// The roles of the channels of a format.
@safe
open class AVAudioChannelLayout: NSObject, NSSecureCoding, @unchecked Sendable {
  let value: ChannelLayout
  /// The layout as a C structure. It stays valid.
  public let layout: UnsafePointer<AudioChannelLayout>

  package init(_ value: ChannelLayout) {
    self.value = value
    unsafe layout = LastingBytes.address(of: value.bytes)
      .assumingMemoryBound(to: AudioChannelLayout.self)
  }

  /// Creates the layout of a tag; nil for a tag that needs a bitmap or descriptions, or has no channels.
  public convenience init?(layoutTag: AudioChannelLayoutTag) {
    guard layoutTag != kAudioChannelLayoutTag_UseChannelDescriptions,
      layoutTag != kAudioChannelLayoutTag_UseChannelBitmap,
      AudioChannelLayoutTag_GetNumberOfChannels(layoutTag) > 0
    else { return nil }
    self.init(ChannelLayout(tag: layoutTag))
  }

  /// Creates a layout from a C structure, with as many descriptions as its header says.
  public convenience init(layout: UnsafePointer<AudioChannelLayout>) {
    guard let value = unsafe ChannelLayout(at: layout) else {
      refuse("AVAudioChannelLayout(layout:): the structure is no channel layout")
    }
    self.init(value)
  }

  /// The tag.
  public var layoutTag: AudioChannelLayoutTag { value.tag }
  /// The number of channels.
  public var channelCount: AVAudioChannelCount { AVAudioChannelCount(clamping: value.channels) }

  /// Returns true for a layout with the same tag, bitmap and descriptions.
  open override func isEqual(_ object: Any?) -> Bool {
    (object as? AVAudioChannelLayout)?.value == value
  }

  /// A hash that equal layouts share.
  open override var hash: Int { Int(value.tag) }

  /// The tag and the number of channels.
  open override var description: String { "<\(identity): tag \(layoutTag), \(channelCount) ch>" }

  // MARK: Archives

  /// True.
  public class var supportsSecureCoding: Bool { true }

  private static let key = "layout"

  /// Writes the layout into an archive.
  public func encode(with coder: NSCoder) {
    coder.encode(NSData(data: Data(value.bytes)), forKey: Self.key)
  }

  /// Reads the layout from an archive; nil if the archive has none.
  public required convenience init?(coder: NSCoder) {
    guard let data = coder.decodeObject(of: NSData.self, forKey: Self.key),
      let value = ChannelLayout([UInt8](Data(referencing: data)))
    else { return nil }
    self.init(value)
  }
}
