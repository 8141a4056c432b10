public import Foundation

/// The permission of the program to record. A program that reaches the JACK server may record: nobody is asked.
open class AVAudioApplication: NSObject, @unchecked Sendable {
  /// The permission to record.
  public enum recordPermission: Int, Sendable {
    /// Does not occur here.
    case undetermined = 0x756e_6474
    /// Does not occur here.
    case denied = 0x6465_6e79
    /// The program may record.
    case granted = 0x6772_6e74
  }

  /// The object of this process.
  public class var shared: AVAudioApplication { only }
  private static let only = AVAudioApplication()

  /// Always `granted`.
  public var recordPermission: recordPermission { .granted }

  /// Calls the handler with true, on a queue of the system.
  public class func requestRecordPermission(
    completionHandler handler: @escaping @Sendable (Bool) -> Void
  ) {
    DispatchQueue.global().async { handler(true) }
  }

  /// Returns true.
  @discardableResult
  public class func requestRecordPermission() async -> Bool { true }
}
