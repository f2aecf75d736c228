import { expect, test } from '@jest/globals';
import { onnx } from 'onnx-proto';
import { onnxModel } from '../../../model/graph/onnx.ts';

/** The published schema decodes what our writer wrote. */
test('a model reads back through the ONNX schema', () => {
  const bytes = onnxModel({
    inputs: [{ name: 'x', type: 'float32', shape: ['B', 300] }],
    outputs: [{ name: 'y', type: 'float64', shape: [] }],
    initialisers: [
      {
        name: 'inside',
        type: 'int64',
        shape: [2],
        data: new Uint8Array(new BigInt64Array([1n, -1n]).buffer),
      },
      {
        name: 'outside',
        type: 'float32',
        shape: [2, 3],
        data: { location: 'weights', offset: 4096, bytes: 24 },
      },
    ],
    nodes: [
      {
        op: 'Made',
        domain: 'com.microsoft',
        inputs: ['x', '', 'inside'],
        outputs: ['y'],
        attributes: { whole: -7, words: 'né', list: [0, 300, -2], real: { float: 0.5 } },
      },
    ],
  });
  const model = onnx.ModelProto.decode(bytes).toJSON();
  expect(model).toMatchObject({
    opsetImport: [
      { domain: '', version: '21' },
      { domain: 'com.microsoft', version: '1' },
    ],
    graph: {
      input: [{ name: 'x', type: { tensorType: { elemType: 1 } } }],
      output: [{ name: 'y', type: { tensorType: { elemType: 11, shape: {} } } }],
      initializer: [
        { name: 'inside', dims: ['2'], dataType: 7 },
        {
          name: 'outside',
          dims: ['2', '3'],
          dataLocation: 'EXTERNAL',
          externalData: [
            { key: 'location', value: 'weights' },
            { key: 'offset', value: '4096' },
            { key: 'length', value: '24' },
          ],
        },
      ],
      node: [
        { opType: 'Made', domain: 'com.microsoft', input: ['x', '', 'inside'], output: ['y'] },
      ],
    },
  });
  const dims = model.graph.input[0].type.tensorType.shape.dim;
  expect(dims).toEqual([{ dimParam: 'B' }, { dimValue: '300' }]);
  const attributes = model.graph.node[0].attribute;
  expect(attributes).toMatchObject([
    { name: 'whole', i: '-7', type: 'INT' },
    { name: 'words', s: Buffer.from('né').toString('base64'), type: 'STRING' },
    { name: 'list', ints: ['0', '300', '-2'], type: 'INTS' },
    { name: 'real', f: 0.5, type: 'FLOAT' },
  ]);
});
