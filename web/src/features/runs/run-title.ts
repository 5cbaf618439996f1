/** The message that the API gives to runs without one; it names another product, which would puzzle here. */
const DEFAULT_MESSAGE = 'Queued manually via the Terraform Enterprise API'

/** What a run is called: the first line of its message, or its id. */
export function runTitle({ id, message }: { id: string; message: string }) {
  const [first = ''] = message.trim().split('\n', 1)
  if (first === DEFAULT_MESSAGE) return 'Started without a message'
  return first === '' ? id : first
}

/** The lines of a message below the first. */
export function moreOfMessage(message: string) {
  return message.trim().split('\n').slice(1).join('\n').trim()
}
