@_exported public import CAudioToolbox
@_exported public import CoreFoundation
@_exported public import Dispatch
@_exported public import Foundation
