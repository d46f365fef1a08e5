import Testing

/// Records a value that a test does not expect.
func unexpected(_ value: some Any, sourceLocation: SourceLocation = #_sourceLocation) {
  Issue.record("\(value)", sourceLocation: sourceLocation)
}
