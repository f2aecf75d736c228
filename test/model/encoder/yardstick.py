"""What transformers makes of texts, for the test beside this file. Prints one line of JSON: [[vector, ...] for each pooling].

yardstick.py encode FOLDER TEXTS.json TOKENS_MAX   vectors (mean, then cls), normalised, of each text by itself, and its tokens
yardstick.py make FOLDER                           replaces the weights by random ones that transformers writes
"""

import json
import sys

import torch
import transformers

torch.manual_seed(11)
torch.set_num_threads(1)
what, folder, *rest = sys.argv[1:]
if what == "make":
    model = transformers.AutoModel.from_config(transformers.AutoConfig.from_pretrained(folder))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model.half().save_pretrained(folder)
    print(json.dumps(None))
else:
    texts = json.load(open(rest[0]))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=folder + "/tokenizer.json")
    model = transformers.AutoModel.from_pretrained(folder, torch_dtype=torch.float32).eval()
    found = {"mean": [], "cls": [], "tokens": []}
    for text in texts:
        ids = tokenizer(text, truncation=True, max_length=int(rest[1]), return_tensors="pt").input_ids
        with torch.no_grad():
            hidden = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]
        for name, vector in (("mean", hidden.mean(0)), ("cls", hidden[0])):
            found[name].append(torch.nn.functional.normalize(vector, dim=0).tolist())
        found["tokens"].append(ids[0].tolist())
    print(json.dumps(found))
