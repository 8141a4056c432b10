public import AVFAudio

/// A kind of media that a program may capture.
public struct AVMediaType: RawRepresentable, Hashable, Sendable {
  /// The name of the kind.
  public let rawValue: String
  /// Creates a kind from its name.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// Sound.
  public static let audio = Self(rawValue: "soun")
}

/// Whether a program may capture media.
public enum AVAuthorizationStatus: Int, Sendable {
  /// Does not occur here.
  case notDetermined = 0
  /// Nothing captures media of this kind here.
  case restricted = 1
  /// Does not occur here.
  case denied = 2
  /// The program may capture.
  case authorized = 3
}

/// The permission to capture. A program that reaches the JACK server may record: nobody is asked.
open class AVCaptureDevice: NSObject {
  /// Returns `authorized` for sound.
  public class func authorizationStatus(for mediaType: AVMediaType) -> AVAuthorizationStatus {
    mediaType == .audio ? .authorized : .restricted
  }

  /// Calls the handler with true for sound, on a queue of the system.
  public class func requestAccess(
    for mediaType: AVMediaType, completionHandler handler: @escaping @Sendable (Bool) -> Void
  ) {
    let isGranted = authorizationStatus(for: mediaType) == .authorized
    DispatchQueue.global().async { handler(isGranted) }
  }

  /// Returns true for sound.
  public class func requestAccess(for mediaType: AVMediaType) async -> Bool {
    authorizationStatus(for: mediaType) == .authorized
  }
}
