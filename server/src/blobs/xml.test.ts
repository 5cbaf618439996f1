import { expect, test } from 'vitest'
import { childrenOf, parseResponse, textOf } from './xml.ts'

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
  const page = parseResponse(LISTING)

  expect(childrenOf(page, 'Contents').map((object) => [textOf(object, 'Key'), textOf(object, 'Size')])).toEqual([
    ['ground state/a&bü', '12'],
    ['ground state/ c', '0'],
  ])
  expect(textOf(page, 'NextContinuationToken')).toBe('1/a>==')
})

test('leading spaces of a response, sent as keep-alive, are ignored', () => {
  const response = parseResponse('  \n <?xml version="1.0"?>\n<Error><Code>InternalError</Code></Error>')

  expect(response?.name).toBe('Error')
  expect(textOf(response, 'Code')).toBe('InternalError')
})

test.each(['', 'upstream timed out', '<html><body><br>Bad gateway</body></html>', '<Error><Code>Slow'])(
  'a body that is not a response of a store has no elements: %s',
  (text) => {
    const response = parseResponse(text)

    expect(response).toBeUndefined()
    expect(textOf(response, 'Code')).toBeUndefined()
  },
)
