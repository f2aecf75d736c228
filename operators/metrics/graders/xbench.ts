/**
 * xbench-DeepSearch, as its authors grade it, in Chinese: 最终答案 (the answer extracted), 解释 (why), 结论
 * (正确 = right, 错误 = wrong).
 */
import { judgeFence } from '../../dialect/fence.ts';
import { type AskingGrader, oneReference, unanimous } from './grader.ts';

/** 不 is not: 不正确 is no verdict of this form. */
const CONCLUSION = /结论[^\n正错不]{0,12}(正确|错误)/gu;

export const xbench: AskingGrader = {
  name: 'xbench',
  way: 'in the form that xbench’s authors use',
  first: 'same text',
  prompt: ({
    question,
    references,
    response,
  }) => `请根据[正确答案]判断[回答]是否正确地回答了[原问题]。

[原问题]: ${judgeFence(question)}

[正确答案]: ${judgeFence(oneReference(references, '或'))}

[回答]: ${judgeFence(response)}

请按下面三个字段给出判断,每个字段单独一行:

最终答案: [回答]给出的最终的、确切的答案;如果没有给出,就写'无'。

解释: 说明最终答案与[正确答案]是否一致。只看两者之间有实际意义的差别;不要自己解题,不要评论题目的背景,也不要为别的答案辩护。

结论: 最终答案与[正确答案]一致,或者数值在很小的误差以内,就写'正确';否则(不一致、有歧义、不等价)就写'错误'。`,
  read(reply) {
    const conclusion = unanimous(reply, CONCLUSION);
    return conclusion === null ? null : { right: conclusion === '正确' };
  },
};
