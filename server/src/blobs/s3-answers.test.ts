import { expect, test } from 'vitest'
import { childrenOf, parseAnswer, textOf } from './s3-answers.ts'

const LISTING = `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Name>blobs</Name>
  <Contents>
    <Key>ground state/a&amp;b&#xFC;</Key>
    <Owner><ID>1</ID></Owner>
    <Size>12</Size>
  </Contents>
  <Contents><Key>ground state/ c</Key><Size>0</Size></Contents>
  <NextContinuationToken>1/a&gt;==</NextContinuationToken>
</ListBucketResult>`

test('a listing has its objects and the token of the next page', () => {
  const page = parseAnswer(LISTING)

  expect(childrenOf(page, 'Contents').map((object) => [textOf(object, 'Key'), textOf(object, 'Size')])).toEqual([
    ['ground state/a&bü', '12'],
    ['ground state/ c', '0'],
  ])
  expect(textOf(page, 'NextContinuationToken')).toBe('1/a>==')
})

test('an answer that began with spaces, to keep the connection open, is read', () => {
  const answer = parseAnswer('  \n <?xml version="1.0"?>\n<Error><Code>InternalError</Code></Error>')

  expect(answer?.name).toBe('Error')
  expect(textOf(answer, 'Code')).toBe('InternalError')
})

test.each(['', 'upstream timed out', '<html><body><br>Bad gateway</body></html>', '<Error><Code>Slow'])(
  'what is no answer of a store has no elements: %s',
  (text) => {
    const answer = parseAnswer(text)

    expect(answer).toBeUndefined()
    expect(textOf(answer, 'Code')).toBeUndefined()
  },
)
