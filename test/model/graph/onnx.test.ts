import { expect, test } from '@jest/globals';
import { onnx } from 'onnx-proto';
import { Graph } from '../../../model/graph/graph.ts';
import { onnxModel } from '../../../model/graph/onnx.ts';

/** The published schema decodes what our writer wrote. */
test('a written model can be read through the ONNX schema', () => {
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

/** A branch reads what is around it; what branches share is computed outside. */
test('written branches can be read through the ONNX schema, and the graph keeps what only they read', () => {
  const graph = new Graph();
  const x = graph.input('x', 'float32', ['B', 2]);
  const doubled = graph.node('Add', [x, x], x.shape);
  graph.node('Neg', [x], x.shape);
  const close = (op: string) => {
    const closed = graph.branch();
    return closed([graph.node(op, [doubled, graph.reals([3])], x.shape)]);
  };
  const one = graph.node('Equal', [graph.size('B'), graph.integers([1])], [1], { type: 'bool' });
  const [either] = graph.either(one, close('Mul'), close('Div'));
  graph.output('y', either!);
  const { node, initializer } = onnx.ModelProto.decode(graph.model()).toJSON().graph;
  const ops = (nodes: readonly { readonly opType: string }[]) => nodes.map(({ opType }) => opType);
  expect(ops(node)).toEqual(['Add', 'Shape', 'Equal', 'If', 'Identity']);
  expect(node[3].attribute.map(({ g }: { g: typeof node }) => ops(g.node))).toEqual([
    ['Mul', 'Identity'],
    ['Div', 'Identity'],
  ]);
  expect(node[3].attribute[0].g.output[0].name).toBe(node[3].attribute[0].g.node[1].output[0]);
  expect(initializer).toHaveLength(2);
});

test('a branch is closed before another is opened', () => {
  const graph = new Graph();
  graph.branch();
  expect(() => graph.branch()).toThrow('close it first');
});
