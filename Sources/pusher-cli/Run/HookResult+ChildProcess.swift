internal import PusherCore

extension HookResult {
  init(_ failure: ChildProcess.Failure) {
    if case .timeout = failure { self = .timedOut } else { self = .failed }
  }

  init(_ result: Result<ChildProcess.Output, ChildProcess.Failure>) {
    self =
      switch result {
      case .success(let output): output.status == 0 ? .succeeded : .failed
      case .failure(let failure): HookResult(failure)
      }
  }
}
